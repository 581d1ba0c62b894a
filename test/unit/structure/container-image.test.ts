import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reachedFrom } from './imports-of.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');
const REFERENCE_HUB = join(CHECKOUT, 'reference-hub') + sep;

function isOfReferenceHub(file: string): boolean {
  return file.startsWith(REFERENCE_HUB);
}

describe('what runs in production', () => {
  it('the verb run leads to no file of the reference hub, by any import', () => {
    const reached = reachedFrom(join(CHECKOUT, 'src/cli/run.ts'));
    expect(reached).toContain(join(CHECKOUT, 'src/hub/scan.ts'));
    expect([...reached].filter(isOfReferenceHub)).toEqual([]);
  });

  it('the verb hub leads to the reference hub', () => {
    expect([...reachedFrom(join(CHECKOUT, 'src/cli/hub.ts'))].some(isOfReferenceHub)).toBe(true);
  });
});

describe('the container image', () => {
  const image = mkdtempSync(join(tmpdir(), 'rollcall-image-'));

  beforeAll(() => {
    for (const path of copiedByDockerfile())
      cpSync(join(CHECKOUT, path), join(image, path), { recursive: true });
    symlinkSync(join(CHECKOUT, 'node_modules'), join(image, 'node_modules'));
  });
  afterAll(() => rmSync(image, { recursive: true }));

  it('holds all that the verb run loads', () => {
    expect(() => reachedFrom(join(image, 'src/cli/run.ts'))).not.toThrow();
    expect(rollcall(image, 'run', '--help')).toMatchObject({ status: 0, stderr: '' });
  });

  it('ends the verb hub with code 2 and says that the reference hub is part of a checkout', () => {
    const { status, stderr } = rollcall(image, 'hub', '--help');
    expect(status).toBe(2);
    expect(stderr).toContain('The reference hub is not installed here: it is part of a checkout');
    expect(rollcall(CHECKOUT, 'hub', '--help')).toMatchObject({ status: 0, stderr: '' });
  });
});

/** What the last stage of the Dockerfile takes from the checkout. */
function copiedByDockerfile(): string[] {
  const lines = readFileSync(join(CHECKOUT, 'Dockerfile'), 'utf8').split('\n');
  const stage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
  return stage
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .flatMap((line) => line.split(' ').slice(1, -1));
}

function rollcall(folder: string, ...args: string[]) {
  return spawnSync(process.execPath, [join(folder, 'bin/rollcall.mjs'), ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
    timeout: 60_000,
  });
}
