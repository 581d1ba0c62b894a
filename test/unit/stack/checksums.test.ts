import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseChecksums, partKey } from '../../../stack/checksums.ts';

const sum = (digit: string) => digit.repeat(64);

describe('parseChecksums', () => {
  it('an invalid line is refused', () => {
    expect(() => parseChecksums(`${sum('a')}  kafka/a.jar\nshort  kafka/b.jar\n`)).toThrow(
      'short  kafka/b.jar',
    );
    expect(() => parseChecksums(`${sum('a')}  kafka/../a.jar\n`)).toThrow('not "<sha256>');
  });

  it('the recorded sums name every part that pom.xml fetches', async () => {
    const stack = join(import.meta.dirname, '../../../stack');
    const sums = parseChecksums(await readFile(join(stack, 'checksums.txt'), 'utf8'));
    const pom = await readFile(join(stack, 'pom.xml'), 'utf8');
    const artifacts = [
      ...pom.matchAll(/<dependency>[^]*?<artifactId>(.+?)<[^]*?<version>(.+?)<[^]*?<\/dependency>/g),
    ];
    const files = Object.values(sums).flatMap((part) => Array.from(part.keys()));
    expect(artifacts.length).toBe(4);
    for (const [, artifact, version] of artifacts) {
      expect(
        files.filter((file) => file.startsWith(`${artifact}-${version}`)),
        `${artifact} ${version}`,
      ).toHaveLength(1);
    }
  });
});

describe('partKey', () => {
  it('another version gets another folder', () => {
    const key = partKey(new Map([['a.jar', sum('a')]]));
    expect(partKey(new Map([['a.jar', sum('b')]]))).not.toBe(key);
    expect(partKey(new Map([['b.jar', sum('a')]]))).not.toBe(key);
  });

  it('the order of lines does not change the folder', () => {
    const entries: [string, string][] = [
      ['a.jar', sum('a')],
      ['b.jar', sum('b')],
    ];
    expect(partKey(new Map(entries.toReversed()))).toBe(partKey(new Map(entries)));
  });
});
