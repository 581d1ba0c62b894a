/** How often the memory use is checked. */
const EVERY_MS = 60_000;
/** Garbage is collected when memory has grown to this many times what it was after the last collection. */
const GROWN = 1.1;
/** Collecting a larger heap would stop the process for more than half a second. */
const LARGEST_HEAP_BYTES = 134_217_728;

/**
 * Returns to the system the memory that a load needed and that the process would otherwise keep. V8 collects its whole
 * heap only when the heap has grown again, which may be the next night. So this asks V8 to collect it earlier.
 *
 * Without Node's flag `--expose-gc` (bin/bounded-memory.mjs) nothing happens.
 */
export function giveBackMemory(): Disposable {
  let afterLastBytes = 0;
  const look = (): void => {
    const { rss, heapUsed } = process.memoryUsage();
    if (rss < afterLastBytes * GROWN || heapUsed > LARGEST_HEAP_BYTES) return;
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    afterLastBytes = process.memoryUsage().rss;
  };
  const timer = setInterval(look, EVERY_MS).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
