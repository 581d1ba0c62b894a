/**
 * Runs inside the image, as text: prints as JSON what the memory settings of its environment do, in MiB.
 * - `young`: the most that the young generation took while much garbage was made; by Node's default, 32 and more.
 * - `kept`: how much glibc's heap grew when 60 buffers of 1 MiB were allocated, after as many had been freed. By
 *   default, glibc then takes such buffers from the heap, which it cannot return. With a fixed threshold, each buffer
 *   has pages of its own.
 */
export function printMemory() {
  const { readFileSync } = process.getBuiltinModule('node:fs');
  const { getHeapSpaceStatistics } = process.getBuiltinModule('node:v8');
  const MIB = 2 ** 20;
  const young = () =>
    (getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.space_size ?? 0) / MIB;
  const heap = () =>
    Number(/\[heap\]\nSize:\s+(\d+) kB/.exec(readFileSync('/proc/self/smaps', 'utf8'))?.[1] ?? 0) / 1024;
  const buffers = () => Array.from({ length: 60 }, () => Buffer.alloc(MIB, 1));
  let most = 0;
  for (let round = 0; round < 300; round += 1) {
    const garbage = Array.from({ length: 20_000 }, (_, index) => ({ round, list: [index] }));
    most = Math.max(most, young(), garbage.length < 0 ? 1 : 0);
  }
  const before = heap();
  buffers();
  globalThis.gc?.();
  const { length } = buffers();
  process.stdout.write(JSON.stringify({ young: most, kept: length === 60 ? heap() - before : undefined }));
}
