import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const PROJECT = join(import.meta.dirname, '..', '..', '..');

/** Prints the files of dependencies and Node's own modules that `rollcall run` has loaded before it does anything. */
const PRINT_LOADED = `
  import { createRequire } from 'node:module';
  const { cache } = createRequire(import.meta.url);
  await import('./src/cli/run.ts');
  process.stdout.write(JSON.stringify([...Object.keys(cache), ...process.moduleLoadList]));
`;

it('"rollcall run" loads none of the large parts of undici that Rollcall never uses', async () => {
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', PRINT_LOADED], {
    cwd: PROJECT,
    maxBuffer: 10_000_000,
  });
  const loaded = JSON.parse(stdout) as string[];
  expect(loaded.some((file) => file.endsWith('undici/lib/dispatcher/agent.js'))).toBe(true);
  expect(
    loaded.filter((file) => /undici\/(index\.js|lib\/(mock|web\/fetch))|deps\/undici/.test(file)),
  ).toEqual([]);
});
