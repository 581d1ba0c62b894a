import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { fetchParts } from '../../../stack/local-parts.ts';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder();
beforeEach(() => void vi.stubEnv('XDG_CACHE_HOME', folder()));
afterEach(() => void vi.unstubAllEnvs());

// $target is the folder that Maven has to fill.
it.each([
  [
    'a file that differs from its checksum',
    'echo tampered > "$target/embedded-redis-1.4.3.jar"',
    /embedded-redis-1\.4\.3\.jar does not match .*checksums\.txt/,
  ],
  ['nothing', 'exit 0', /SHA-256 missing/],
  [
    'a failure, whose end is shown without progress',
    'printf "Progress (1): 1/2 MB\\r"; echo "[ERROR] Unknown host"; exit 1',
    /^(?!.*Progress)[^]*Maven could not fetch redis \(exit 1\)(?![^]*Progress)[^]*\[ERROR\] Unknown host/,
  ],
])(
  'what Maven did not bring is not installed, and the rest of an interrupted run is removed: %s',
  async (_, script, says) => {
    const bin = join(folder(), 'bin');
    const cache = join(folder(), 'rollcall');
    await mkdir(bin);
    await mkdir(join(cache, 'download-half'), { recursive: true });
    const head =
      '#!/bin/sh\nfor arg; do case "$arg" in -DoutputDirectory=*) target="${arg#*=}";; esac; done\n';
    await writeFile(join(bin, 'mvn'), head + script);
    await chmod(join(bin, 'mvn'), 0o755);
    vi.stubEnv('PATH', `${bin}${delimiter}${process.env['PATH']}`);
    await expect(fetchParts(['redis'], { print: () => undefined })).rejects.toThrow(says);
    expect(await readdir(cache)).toEqual([]);
  },
);
