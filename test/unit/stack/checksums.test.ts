import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseChecksums, partKey } from '../../../stack/checksums.ts';

const sum = (digit: string) => digit.repeat(64);

it.each([`${sum('a')}  kafka/a.jar\nshort  kafka/b.jar\n`, `${sum('a')}  kafka/../a.jar\n`])(
  'a file of checksums with an invalid line is refused: %j',
  (text) => {
    expect(() => parseChecksums(text)).toThrow('not "<sha256>');
  },
);

it('the recorded checksums name every part that pom.xml fetches', async () => {
  const stack = join(import.meta.dirname, '../../../stack');
  const sums = parseChecksums(await readFile(join(stack, 'checksums.txt'), 'utf8'));
  const pom = await readFile(join(stack, 'pom.xml'), 'utf8');
  const artifacts = [
    ...pom.matchAll(/<dependency>[^]*?<artifactId>(.+?)<[^]*?<version>(.+?)<[^]*?<\/dependency>/g),
  ].map(([, artifact, version]) => `${artifact}-${version}`);
  const files = Object.values(sums).flatMap((part) => Array.from(part.keys()));
  const found = artifacts.map((name) => files.filter((file) => file.startsWith(name)).length);
  expect(found).toEqual([1, 1, 1, 1]);
});

it('another version of a part, and no other order of its checksums, gets another folder', () => {
  const of = (...files: [string, string][]) => partKey(new Map(files));
  const [a, b] = [
    ['a.jar', sum('a')],
    ['b.jar', sum('b')],
  ] as [string, string][];
  expect(new Set([of(a!), of(['a.jar', sum('b')]), of(['b.jar', sum('a')]), of(a!, b!)]).size).toBe(4);
  expect(of(b!, a!)).toBe(of(a!, b!));
});
