import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it, vi } from 'vitest';

const crypto = vi.hoisted(() => {
  let next = 27_000;
  return { randomInt: vi.fn<() => number>(() => (next += 1)) };
});
vi.mock('node:crypto', () => crypto);

/** Loads the function with a memory of its own, as another process has it. */
async function freePortOfAnother(): Promise<() => Promise<number>> {
  vi.resetModules();
  const { freePort } = await import('../../../stack/free-port.ts');
  return freePort;
}

it('two callers get different ports, even while no process listens on them', async () => {
  const [one, other] = [await freePortOfAnother(), await freePortOfAnother()];
  const first = await one();
  crypto.randomInt.mockReturnValueOnce(first);
  expect(await other()).not.toBe(first);
});

it('a port with a listening process is not given', async () => {
  const server = createServer().listen({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const address = server.address();
  const taken = typeof address === 'object' ? (address?.port ?? 0) : 0;
  crypto.randomInt.mockReturnValueOnce(taken);
  const freePort = await freePortOfAnother();
  expect(await freePort()).not.toBe(taken);
  server.close();
});
