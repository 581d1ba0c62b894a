import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { startStatusServer } from '../../../src/telemetry/http-server.ts';
import { boardOf } from './support/board-of.ts';
import { pageOn } from '../../../src/cli/help.ts';

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const NO_HUB = { why: 'the hub does not answer', remedy: 'See that it runs.' };

async function start(metricsText: () => Promise<string> = async () => 'up 1\n') {
  const world = boardOf(Date.now());
  world.isWell();
  const { board } = world;
  const metrics = { contentType: CONTENT_TYPE, metrics: metricsText } as const;
  const listen = async (port: number) => {
    const server = await startStatusServer({ host: '127.0.0.1', port, board, metrics, help: pageOn });
    onTestFinished(() => server.close());
    return server;
  };
  const server = await listen(0);
  const get = async (path: string, init?: RequestInit) => {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, init);
    const text = await answer.text();
    const body: unknown = text.startsWith('{') ? JSON.parse(text) : null;
    return { status: answer.status, headers: Object.fromEntries(answer.headers), text, body };
  };
  return { board, server, listen, get };
}

it('/readyz gives every reason with its remedy, and /livez fails only where a restart heals', async () => {
  const { board, get } = await start();
  const evicts = { why: 'it evicts keys', remedy: 'Set noeviction.' };
  board.report('hub', NO_HUB);
  board.report('redis', evicts);
  const reasons = [
    { part: 'redis', tenant: 'north', ...evicts },
    { part: 'hub', tenant: 'north', ...NO_HUB },
  ];
  expect(await get('/readyz')).toMatchObject({ status: 503, body: { ready: false, reasons } });
  expect(await get('/livez')).toMatchObject({ status: 200 });
  for (const part of ['hub', 'redis'] as const) board.report(part, null);
  expect(await get('/readyz?verbose')).toMatchObject({ status: 200, body: { ready: true, reasons: [] } });
  const [why, other] = ['the tenant has another owner', 'and then this'];
  for (const each of [why, other]) board.stop(each);
  expect(await get('/livez')).toMatchObject({ status: 500, body: { live: false, why } });
  expect(await get('/readyz')).toMatchObject({ status: 503, text: expect.stringContaining(why) });
});

it('the status server serves metrics, answers HEAD without a body, and refuses other methods and paths', async () => {
  const { get } = await start();
  const metrics = { status: 200, headers: { 'content-type': CONTENT_TYPE }, text: 'up 1\n' };
  expect(await get('/metrics')).toMatchObject(metrics);
  expect(await get('/livez', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
  const post = await get('/livez', { method: 'POST', body: 'x'.repeat(100_000) });
  expect(post).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  for (const path of ['/nothing', '/metrics/../etc']) expect(await get(path)).toMatchObject({ status: 404 });
});

it('the status server answers 500 for metrics that fail, and goes on serving', async () => {
  const { get } = await start(() => Promise.reject(new Error('broken')));
  expect([(await get('/metrics')).status, (await get('/livez')).status]).toEqual([500, 200]);
});

it('the status server refuses a port in use, and says what to set', async () => {
  const { server, listen } = await start();
  const message = expect.stringContaining(`127.0.0.1:${server.port}`) as string;
  await expect(listen(server.port)).rejects.toMatchObject({ code: 'CONFIG_INVALID', message });
});

it('the status server closes although a connection stays open', async () => {
  const { server } = await start();
  const socket = connect(server.port, '127.0.0.1').on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n');
  await expect(server.close()).resolves.toBeUndefined();
});
