import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { parseChecksums } from '../../../stack/checksums.ts';
import { groundInUse, grounds } from '../../../stack/grounds.ts';
import { fetchParts } from '../../../stack/local-parts.ts';

const CHECKOUT = join(import.meta.dirname, '../../..');

it('the recorded checksums name every part that pom.xml fetches', async () => {
  const stack = join(CHECKOUT, 'stack');
  const sums = parseChecksums(await readFile(join(stack, 'checksums.txt'), 'utf8'));
  const pom = await readFile(join(stack, 'pom.xml'), 'utf8');
  const dependency = /<dependency>[^]*?<artifactId>(.+?)<[^]*?<version>(.+?)<[^]*?<\/dependency>/g;
  const wanted = [...pom.matchAll(/<profile>\s*<id>(.+?)<([^]*?)<\/profile>/g)].flatMap(
    ([, part = '', profile = '']) =>
      Array.from(profile.matchAll(dependency), ([, artifact, version]) => ({
        part,
        begin: `${artifact}-${version}`,
      })),
  );
  const files = Object.entries(sums).flatMap(([part, of]) =>
    Array.from(of.keys(), (name) => ({ part, name })),
  );
  const isFor = (each: (typeof wanted)[number]) => (file: (typeof files)[number]) =>
    file.part === each.part && file.name.startsWith(each.begin);
  expect(wanted.filter((each) => files.filter(isFor(each)).length !== 1)).toEqual([]);
  expect(Object.entries(sums).filter(([, part]) => part.size === 0)).toEqual([]);
});

it('the weekly workflow runs the tests with each set of service versions and settings (ground)', async () => {
  const workflow = await readFile(join(CHECKOUT, '.github/workflows/checks.yml'), 'utf8');
  const [, listed = ''] = /^ +ground: \[(.+)\]$/m.exec(workflow) ?? [];
  expect(listed.split(', ')).toEqual(Object.keys(grounds));
});

it('an unknown ground (set of service versions) is refused by name', () => {
  vi.stubEnv('ROLLCALL_GROUND', 'kafka-2');
  expect(groundInUse).toThrow(/^ROLLCALL_GROUND is kafka-2, not one of kafka-3\.9,/);
});

it('a downloaded part with another checksum than the recorded one is not installed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const bin = join(folder, 'bin');
  const cache = join(folder, 'rollcall');
  await mkdir(bin);
  await mkdir(join(cache, 'download-interrupted'), { recursive: true });
  // Stands for Maven, and fills the folder that Maven has to fill.
  const maven =
    '#!/bin/sh\n' +
    'for arg; do case "$arg" in -DoutputDirectory=*) target="${arg#*=}";; esac; done\n' +
    'echo tampered > "$target/embedded-redis-1.4.3.jar"';
  await writeFile(join(bin, 'mvn'), maven, { mode: 0o755 });
  vi.stubEnv('XDG_CACHE_HOME', folder);
  vi.stubEnv('PATH', `${bin}${delimiter}${process.env['PATH']}`);
  await expect(fetchParts(['redis'], { print: () => undefined })).rejects.toThrow(
    /embedded-redis-1\.4\.3\.jar does not match .*checksums\.txt/,
  );
  expect(await readdir(cache)).toEqual([]);
});
