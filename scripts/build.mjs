// Builds dist, which the npm package and the image run: JavaScript of src, with source maps, and the files that src reads.
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { extname, join } from 'node:path';
import { checkout } from './setup.mjs';

const [source, target] = ['src', 'dist'].map((name) => join(checkout, name));
const tsc = join(checkout, 'node_modules', '.bin', 'tsc');

rmSync(target, { recursive: true, force: true });
const { status } = spawnSync(process.execPath, [tsc, '-p', join(checkout, 'tsconfig.build.json')], {
  stdio: 'inherit',
});
cpSync(source, target, { recursive: true, filter: (path) => extname(path) !== '.ts' });
process.exitCode = status ?? 1;
