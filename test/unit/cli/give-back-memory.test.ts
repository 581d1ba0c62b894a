import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { giveBackMemory } from '../../../src/cli/give-back-memory.ts';

const MIB = 1_048_576;
const gc = vi.fn<() => void>();
const sizes = { rss: 200 * MIB, heapUsed: 40 * MIB };

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('gc', gc.mockReset());
  vi.spyOn(process, 'memoryUsage').mockImplementation(() => sizes as NodeJS.MemoryUsage);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

it('a process gives the memory of a load back once, and again when it has grown by a tenth', () => {
  using _memory = giveBackMemory();
  gc.mockImplementationOnce(() => (sizes.rss = 120 * MIB));
  vi.advanceTimersByTime(600_000);
  expect(gc).toHaveBeenCalledTimes(1);
  sizes.rss = 133 * MIB;
  vi.advanceTimersByTime(60_000);
  expect(gc).toHaveBeenCalledTimes(2);
});

it('a process leaves a large heap to V8, because collecting it at once would take too long', () => {
  sizes.heapUsed = 500 * MIB;
  using _memory = giveBackMemory();
  vi.advanceTimersByTime(600_000);
  expect(gc).not.toHaveBeenCalled();
});
