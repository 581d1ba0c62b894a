import { expect, it, vi } from 'vitest';

const crypto = vi.hoisted(() => {
  let next = 27_000;
  return { randomInt: vi.fn<() => number>(() => (next += 1)) };
});
vi.mock('node:crypto', () => crypto);

/** Asks with a memory of its own, as another process has it. */
async function freePortOfAnother(): Promise<number> {
  vi.resetModules();
  const { freePort } = await import('../../../stack/free-port.ts');
  return freePort();
}

it('two processes get different ports, even while neither listens', async () => {
  const first = await freePortOfAnother();
  crypto.randomInt.mockReturnValueOnce(first);
  expect(await freePortOfAnother()).not.toBe(first);
});
