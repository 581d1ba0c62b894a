import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { partNames, sha256OfFile } from './checksums.ts';
import { download } from './local-parts.ts';

/** Writes checksums.txt again for the files in pom.xml: run it after changing a version, and look at the difference. */
async function main(): Promise<void> {
  const say = (line: string) => process.stderr.write(`checksums: ${line}\n`);
  const work = await mkdtemp(join(tmpdir(), 'rollcall-checksums-'));
  const lines: string[] = [];
  try {
    for (const part of partNames) {
      const target = join(work, part);
      await download([part], target, { say });
      for (const name of await readdir(target))
        lines.push(`${await sha256OfFile(join(target, name))}  ${part}/${name}`);
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  const byFile = lines.toSorted((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1));
  await writeFile(join(import.meta.dirname, 'checksums.txt'), `${byFile.join('\n')}\n`);
  say(`stack/checksums.txt: ${lines.length} files`);
}

await main();
