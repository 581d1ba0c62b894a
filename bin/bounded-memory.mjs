// How Node is started for a process that runs for a long time, so that its memory stays small (docs/performance.md).
// Plain JavaScript that imports nothing: it loads before everything else.

/** The image sets the same flags and variables (Dockerfile). */
export const NODE_FLAGS = [
  // a young generation that may grow to its default takes 100 to 150 MB more, and no less CPU time
  '--max-semi-space-size=4',
  // lets the process give memory back when a load is over (src/cli/give-back-memory.ts)
  '--expose-gc',
];
export const ENVIRONMENT = {
  // lets glibc return each large buffer to the system at once, which takes a fifth less in a first load
  MALLOC_MMAP_THRESHOLD_: '131072',
  // one heap of glibc for all threads, instead of one for each thread of the compiler and the collector
  MALLOC_ARENA_MAX: '1',
};

/**
 * Replaces this process by the same one with these flags and variables, unless it has them. Node and glibc read them only
 * when they start.
 */
export function boundMemory() {
  const hasFlags = typeof globalThis.gc === 'function';
  const canBeReplaced = process.platform !== 'win32' && process.channel === undefined;
  if (hasFlags || !canBeReplaced) return;
  const [, script = '', ...argv] = process.argv;
  const args = [process.execPath, ...NODE_FLAGS, ...process.execArgv, script, ...argv];
  process.execve?.(process.execPath, args, { ...ENVIRONMENT, ...process.env });
}
