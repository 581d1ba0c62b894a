import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

/** The parts of the stack that can run as local processes. */
export const partNames = ['kafka', 'registry', 'redis'] as const;
export type PartName = (typeof partNames)[number];

/** The files of a part: their names and SHA-256 sums in hex. */
export type PartFiles = ReadonlyMap<string, string>;

/**
 * Reads `checksums.txt`: lines in the format of `sha256sum`, `<64 hex digits>  <part>/<file>`.
 *
 * @throws Error for any other line.
 */
export function parseChecksums(text: string): Record<PartName, PartFiles> {
  const parts = {
    kafka: new Map<string, string>(),
    registry: new Map<string, string>(),
    redis: new Map<string, string>(),
  };
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const match = /^([0-9a-f]{64}) {2}(kafka|registry|redis)\/([\w.+-]+)$/.exec(line);
    if (match === null) throw new Error(`checksums.txt: not "<sha256>  <part>/<file>": ${line}`);
    parts[match[2] as PartName].set(match[3] ?? '', match[1] ?? '');
  }
  return parts;
}

/** Identifies the exact content of a part, for the name of its folder in the cache. */
export function partKey(files: PartFiles): string {
  const hash = createHash('sha256');
  for (const [name, sum] of [...files].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(`${sum}  ${name}\n`);
  return hash.digest('hex').slice(0, 12);
}

/** Returns the SHA-256 sum of a file, in hex. */
export async function sha256OfFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
