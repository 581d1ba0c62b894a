import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

/** What is downloaded for local processes: a part for each service, and other versions of them (grounds.ts). */
export const partNames = [
  'kafka',
  'kafka-3.9',
  'kafka-4.4',
  'registry',
  'registry-3',
  'redis',
  'redis-8.2',
  'valkey-9.1',
] as const;
export type PartName = (typeof partNames)[number];

/** The files of a part: their names and SHA-256 sums in hex. */
export type PartFiles = ReadonlyMap<string, string>;

/**
 * Reads `checksums.txt`: lines in the format of `sha256sum`, `<64 hex digits>  <part>/<file>`.
 *
 * @throws Error for any other line.
 */
export function parseChecksums(text: string): Record<PartName, PartFiles> {
  const parts = Object.fromEntries(partNames.map((part) => [part, new Map<string, string>()]));
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, sum = '', part = '', file = ''] = /^([0-9a-f]{64}) {2}([\w.-]+)\/([\w.+-]+)$/.exec(line) ?? [];
    const files = parts[part];
    if (files === undefined) throw new Error(`checksums.txt: not "<sha256>  <part>/<file>": ${line}`);
    files.set(file, sum);
  }
  return parts as Record<PartName, Map<string, string>>;
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
