import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { partNames, sha256OfFile } from './checksums.ts';
import { download } from './local-parts.ts';

/** Writes checksums.txt for all parts: run this after a change of a version, and review the difference. */
async function main(): Promise<void> {
  const print = (line: string) => process.stderr.write(`checksums: ${line}\n`);
  const work = await mkdtemp(join(tmpdir(), 'rollcall-checksums-'));
  const lines: string[] = [];
  try {
    for (const part of partNames) {
      const target = join(work, part);
      await download([part], target, { print });
      for (const name of await readdir(target))
        lines.push(`${await sha256OfFile(join(target, name))}  ${part}/${name}`);
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  const byFile = lines.toSorted((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1));
  await writeFile(join(import.meta.dirname, 'checksums.txt'), `${byFile.join('\n')}\n`);
  print(`stack/checksums.txt: ${lines.length} files`);
}

await main();
