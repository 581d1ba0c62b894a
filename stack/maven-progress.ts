const unitBytes: Record<string, number> = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9 };
const downloaded = /^Downloaded from \S+ \S*\/(\S+) \(([\d.]+) (B|kB|MB|GB)/;
const transfer = /([\d.]+)(?: (B|kB|MB|GB))?(?:\/([\d.]+) (B|kB|MB|GB))?/;

export interface MavenProgress {
  /** Takes a piece of Maven's standard output. */
  take: (chunk: string) => void;
  /** Returns the bytes fetched so far, including unfinished files. */
  bytes(): number;
  files(): number;
}

/**
 * Reads the progress of a download from the output of Maven 3 without `-B`: `Downloaded from … (142 MB at 5 MB/s)` for
 * each finished file, and, between carriage returns, `Progress (2): 19/142 MB | 2.4/3.8 MB` for unfinished ones.
 */
export function mavenProgress(): MavenProgress {
  let rest = '';
  let doneBytes = 0;
  let unfinishedBytes = 0;
  let files = 0;
  return {
    take(chunk) {
      const lines = (rest + chunk).split(/[\r\n]+/);
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const done = downloaded.exec(line);
        if (done !== null) {
          doneBytes += toBytes(done[2], done[3]);
          unfinishedBytes = 0;
          files += 1;
        } else if (line.startsWith('Progress (')) {
          unfinishedBytes = unfinishedBytesIn(line);
        }
      }
    },
    bytes: () => doneBytes + unfinishedBytes,
    files: () => files,
  };
}

function unfinishedBytesIn(line: string): number {
  const transfers = line.slice(line.indexOf(':') + 1).split('|');
  return transfers.reduce((sum, text) => {
    const match = transfer.exec(text);
    return match === null ? sum : sum + toBytes(match[1], match[2] ?? match[4]);
  }, 0);
}

function toBytes(amount: string | undefined, unit: string | undefined): number {
  return Number(amount ?? 0) * (unitBytes[unit ?? 'B'] ?? 1);
}
