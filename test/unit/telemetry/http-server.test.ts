import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { RollcallError } from '../../../src/errors.ts';
import { startStatusServer, type StatusServer } from '../../../src/telemetry/http-server.ts';
import { boardOf } from './support/board-of.ts';

const open: StatusServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

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

describe('readiness', () => {
  it('gives every reason with its remedy until it is withdrawn, while the process stays live', async () => {
    const { board, get } = await start();
    const evicts = { why: 'it evicts keys', remedy: 'Set noeviction.' };
    board.report('hub', NO_HUB);
    board.report('redis', evicts);
    const before = await get('/readyz');
    expect(before.status).toBe(503);
    expect((await get('/livez')).status).toBe(200);
    expect(await before.json()).toEqual({
      ready: false,
      reasons: [
        { part: 'hub', tenant: 'north', ...NO_HUB },
        { part: 'redis', tenant: 'north', ...evicts },
      ],
    });
    board.report('hub', null);
    board.report('redis', null);
    const after = await get('/readyz?verbose');
    expect([after.status, await after.json()]).toEqual([200, { ready: true, reasons: [] }]);
  });
});

describe('liveness', () => {
  it('ends with an error that only a restart heals, and readiness ends with it', async () => {
    const { board, get } = await start();
    board.stop('the tenant has another owner');
    board.stop('and then this');
    const live = await get('/livez');
    expect([live.status, await live.json()]).toEqual([
      500,
      { live: false, why: 'the tenant has another owner' },
    ]);
    const ready = await get('/readyz');
    expect(ready.status).toBe(503);
    expect(JSON.stringify(await ready.json())).toContain('the tenant has another owner');
  });
});

describe('the server', () => {
  it('serves metrics with their content type', async () => {
    const { get } = await start();
    const response = await get('/metrics');
    expect([response.status, response.headers.get('content-type')]).toEqual([200, CONTENT_TYPE]);
    expect(await response.text()).toBe('up 1\n');
  });

  it('answers 500 for metrics that fail, and continues to serve', async () => {
    const { get } = await start(() => Promise.reject(new Error('broken')));
    expect((await get('/metrics')).status).toBe(500);
    expect((await get('/livez')).status).toBe(200);
  });

  it('answers HEAD without a body, and only GET and HEAD', async () => {
    const { get } = await start();
    const head = await get('/livez', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const post = await get('/livez', { method: 'POST', body: 'x'.repeat(100_000) });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await get('/nothing')).status).toBe(404);
    expect((await get('/metrics/../etc')).status).toBe(404);
  });

  it('refuses a port in use and says what to set', async () => {
    const { board, server } = await start();
    const republication = startStatusServer({
      host: '127.0.0.1',
      port: server.port,
      board,
      metrics: { contentType: CONTENT_TYPE, metrics: async () => '' },
    });
    await expect(republication).rejects.toThrow(RollcallError);
    await expect(republication).rejects.toThrow(`127.0.0.1:${server.port}`);
  });

  it('closes although a connection stays open', async () => {
    const { server } = await start();
    const socket = connect(server.port, '127.0.0.1');
    await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
    socket.on('error', () => {});
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n');
    const startedMs = performance.now();
    await server.close();
    expect(performance.now() - startedMs).toBeLessThan(30_000);
    socket.destroy();
  });
});

describe('idle connections', () => {
  async function openIdle(server: StatusServer, count: number): Promise<Socket[]> {
    const sockets = Array.from({ length: count }, () =>
      connect(server.port, '127.0.0.1').on('error', () => {}),
    );
    idle.push(...sockets);
    await Promise.all(
      sockets.map((socket) => new Promise<void>((resolve) => socket.once('connect', () => resolve()))),
    );
    return sockets;
  }
  const idle: Socket[] = [];
  afterEach(() => idle.splice(0).forEach((socket) => socket.destroy()));

  it('of any number do not keep a probe from its answer', async () => {
    const { server, get } = await start();
    await openIdle(server, 250);
    expect((await get('/livez')).status).toBe(200);
  });

  it('beyond the limit are closed, the oldest first, and never one that is being answered', async () => {
    const scrape = Promise.withResolvers<string>();
    const scraping = Promise.withResolvers<void>();
    const { server, get } = await start(() => {
      scraping.resolve();
      return scrape.promise;
    });
    const metrics = get('/metrics');
    await scraping.promise;
    const [oldest, ...others] = await openIdle(server, 100);
    await new Promise<void>((resolve) => oldest?.once('close', () => resolve()));
    expect(others.filter(({ destroyed }) => destroyed)).toEqual([]);
    scrape.resolve('up 1\n');
    expect(await (await metrics).text()).toBe('up 1\n');
  });
});

describe('a trouble that lasts', () => {
  it('is news once', () => {
    const [tenant] = boardOf(0).board.tenants;
    expect(tenant?.report('hub', NO_HUB)).toBe(true);
    expect(tenant?.report('hub', NO_HUB)).toBe(false);
    expect(tenant?.report('hub', { ...NO_HUB, why: 'the hub refuses the token' })).toBe(true);
    expect(tenant?.report('hub', null)).toBe(true);
    expect(tenant?.report('hub', null)).toBe(false);
  });
});
