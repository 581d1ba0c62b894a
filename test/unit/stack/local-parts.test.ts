import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fetchParts } from '../../../stack/local-parts.ts';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder();
const cache = (): string => join(folder(), 'rollcall');
beforeEach(() => void vi.stubEnv('XDG_CACHE_HOME', folder()));
afterEach(() => void vi.unstubAllEnvs());

/** Puts a program named mvn first in the PATH. `$target` is the folder that it has to fill. */
async function installMaven(script: string): Promise<void> {
  const bin = join(folder(), 'bin');
  await mkdir(bin);
  const head = '#!/bin/sh\nfor arg; do case "$arg" in -DoutputDirectory=*) target="${arg#*=}";; esac; done\n';
  await writeFile(join(bin, 'mvn'), head + script);
  await chmod(join(bin, 'mvn'), 0o755);
  vi.stubEnv('PATH', `${bin}${delimiter}${process.env['PATH']}`);
}

const print = () => undefined;

describe('fetchParts', () => {
  it('a file that differs from its recorded sum is not installed', async () => {
    await installMaven('echo tampered > "$target/embedded-redis-1.4.3.jar"');
    await expect(fetchParts(['redis'], { print })).rejects.toThrow(
      /embedded-redis-1\.4\.3\.jar does not match .*checksums\.txt/,
    );
    expect(await readdir(cache())).toEqual([]);
  });

  it('a file that Maven did not bring is an error', async () => {
    await installMaven('exit 0');
    await expect(fetchParts(['redis'], { print })).rejects.toThrow('SHA-256 missing');
  });

  it('when Maven fails, the error shows the end of its output, without its progress', async () => {
    await installMaven('printf "Progress (1): 1/2 MB\\r"; echo "[ERROR] Unknown host"; exit 1');
    const failure = await fetchParts(['kafka'], { print }).catch((error: unknown) => String(error));
    expect(failure).toContain('Maven could not fetch kafka (exit 1)');
    expect(failure).toContain('[ERROR] Unknown host');
    expect(failure).not.toContain('Progress');
  });

  it('the rest of an interrupted run is removed', async () => {
    await mkdir(join(cache(), 'download-half'), { recursive: true });
    await installMaven('exit 1');
    await expect(fetchParts(['kafka'], { print })).rejects.toThrow('Maven could not fetch');
    expect(await readdir(cache())).toEqual([]);
  });
});
