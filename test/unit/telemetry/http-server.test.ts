import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { startStatusServer, type StatusServer } from '../../../src/telemetry/http-server.ts';
import { boardOf } from './support/board-of.ts';

const open: StatusServer[] = [];
const idle: Socket[] = [];
afterEach(async () => {
  for (const socket of idle.splice(0)) socket.destroy();
  await Promise.all(open.splice(0).map((server) => server.close()));
});

async function openIdle({ port }: StatusServer, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1').on('error', () => {}));
  idle.push(...sockets);
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return sockets;
}

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const NO_HUB = { why: 'the hub does not answer', remedy: 'See that it runs.' };

async function start(metricsText: () => Promise<string> = async () => 'up 1\n') {
  const world = boardOf(Date.now());
  world.isWell();
  const { board } = world;
  const metrics = { contentType: CONTENT_TYPE, metrics: metricsText } as const;
  const server = await startStatusServer({ host: '127.0.0.1', port: 0, board, metrics });
  open.push(server);
  const url = `http://127.0.0.1:${server.port}`;
  return { board, server, get: (path: string, init?: RequestInit) => fetch(url + path, init) };
}

it('/readyz gives every reason with its remedy until it is withdrawn, while /livez stays well until an error that only a restart heals', async () => {
  const { board, get } = await start();
  const evicts = { why: 'it evicts keys', remedy: 'Set noeviction.' };
  board.report('hub', NO_HUB);
  board.report('redis', evicts);
  const before = await get('/readyz');
  expect([before.status, (await get('/livez')).status]).toEqual([503, 200]);
  const reasons = [
    { part: 'hub', tenant: 'north', ...NO_HUB },
    { part: 'redis', tenant: 'north', ...evicts },
  ];
  expect(await before.json()).toEqual({ ready: false, reasons });
  for (const part of ['hub', 'redis'] as const) board.report(part, null);
  const after = await get('/readyz?verbose');
  expect([after.status, await after.json()]).toEqual([200, { ready: true, reasons: [] }]);
  for (const why of ['the tenant has another owner', 'and then this']) board.stop(why);
  const live = await get('/livez');
  expect([live.status, await live.json()]).toEqual([
    500,
    { live: false, why: 'the tenant has another owner' },
  ]);
  const ready = await get('/readyz');
  expect([ready.status, await ready.text()]).toEqual([
    503,
    expect.stringContaining('the tenant has another owner'),
  ]);
});

describe('the server', () => {
  it('serves metrics, answers HEAD without a body, and only GET and HEAD, and no other path', async () => {
    const { get } = await start();
    const response = await get('/metrics');
    const { status, headers } = response;
    expect([status, headers.get('content-type'), await response.text()]).toEqual([
      200,
      CONTENT_TYPE,
      'up 1\n',
    ]);
    const head = await get('/livez', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const post = await get('/livez', { method: 'POST', body: 'x'.repeat(100_000) });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    for (const path of ['/nothing', '/metrics/../etc']) expect((await get(path)).status).toBe(404);
  });

  it('answers 500 for metrics that fail, and continues to serve', async () => {
    const { get } = await start(() => Promise.reject(new Error('broken')));
    expect([(await get('/metrics')).status, (await get('/livez')).status]).toEqual([500, 200]);
  });

  it('refuses a port in use and says what to set', async () => {
    const { board, server } = await start();
    const metrics = { contentType: CONTENT_TYPE, metrics: async () => '' } as const;
    await expect(
      startStatusServer({ host: '127.0.0.1', port: server.port, board, metrics }),
    ).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`127.0.0.1:${server.port}`),
    });
  });

  it('closes although a connection stays open', async () => {
    const { server } = await start();
    const [socket] = await openIdle(server, 1);
    socket?.write('GET /livez HTTP/1.1\r\nHost: x\r\n');
    const startedMs = performance.now();
    await server.close();
    expect(performance.now() - startedMs).toBeLessThan(30_000);
  });

  it('idle connections beyond the limit are closed, the oldest first, and never one that is being answered', async () => {
    const scrape = Promise.withResolvers<string>();
    const scraping = Promise.withResolvers<void>();
    const { server, get } = await start(() => {
      scraping.resolve();
      return scrape.promise;
    });
    const metrics = get('/metrics');
    await scraping.promise;
    const [oldest, ...others] = await openIdle(server, 100);
    await vi.waitFor(() => expect(oldest?.closed).toBe(true));
    expect(others.filter(({ destroyed }) => destroyed)).toEqual([]);
    scrape.resolve('up 1\n');
    expect(await (await metrics).text()).toBe('up 1\n');
  });
});

it('a trouble that lasts is news once', () => {
  const [tenant] = boardOf(0).board.tenants;
  const reports = [NO_HUB, NO_HUB, { ...NO_HUB, why: 'the hub refuses the token' }, null, null];
  expect(reports.map((each) => tenant?.report('hub', each))).toEqual([true, false, true, true, false]);
});
