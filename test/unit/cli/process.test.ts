import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { yamlWith } from '../config/config-text.ts';

const PROGRAM = join(import.meta.dirname, '../../../bin/rollcall.mjs');
const SAY_WHEN_LOADING = new URL('say-when-loading.mjs', import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), 'rollcall-process-'));
const sockets = new Set<Socket>();
/** A broker that takes connections and never answers. Nothing listens on port 9. */
const broker = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
let address = '';

beforeAll(async () => {
  await once(broker.listen(0, '127.0.0.1'), 'listening');
  address = `127.0.0.1:${(broker.address() as AddressInfo).port}`;
  const yaml = yamlWith({ root: 'http: { port: 0 }\nredis: { url: "redis://127.0.0.1:9" }' });
  writeFileSync(join(folder, 'rollcall.yaml'), yaml.replace('localhost:9092', address));
});
afterAll(() => {
  broker.close();
  for (const socket of sockets) socket.destroy();
  rmSync(folder, { recursive: true });
});

/** Starts the program. `says`: resolves when it first writes there; `ended`: how it ended. */
function start(words: string, env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, ['--import', SAY_WHEN_LOADING, PROGRAM, ...words.split(' ')], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HUB_SECRET: 'x', ROLLCALL_COMMAND: 'rollcall', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // This ends a process that would outlive its test.
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (said[name] += text));
  const says = (name: keyof typeof said) => once(child[name], 'data');
  const ended = once(child, 'close').then(([code, by]: unknown[]) => ({ code, by, ...said }));
  return { child, says, ended };
}

it.each([0, 200, 1000])(
  'a signal %i ms into its loading does not kill "run": it ends with 0',
  async (afterMs) => {
    const { child, says, ended } = start('run');
    await says('stderr');
    await sleep(afterMs);
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 0, by: null });
  },
);

it.each([
  ['tail users', 'SIGINT', 0],
  ['pull', 'SIGTERM', 1],
])(
  '"%s" ends with its exit code on %s before it has begun, not by the signal',
  async (words, signal, code) => {
    expect(await start(words, { EARLY_SIGNAL: signal }).ended).toMatchObject({ code, by: null });
  },
);

it('a verb that waits for Kafka says so, and when it is stopped it ends with 1', async () => {
  const { child, says, ended } = start('status');
  while (!String(await says('stderr')).includes('Kafka')) continue;
  child.kill('SIGTERM');
  const said = `Kafka (${address}) has not answered yet; still trying.\n✗ stopped before it was done\n`;
  expect(await ended).toMatchObject({ code: 1, by: null, stderr: `loading\n${said}` });
});

it('a reader that goes away ends the program without complaint', async () => {
  const { child, ended } = start('help operations');
  child.stdout.destroy();
  expect(await ended).toMatchObject({ code: 0, by: null, stderr: 'loading\n' });
});

it('a second start takes the modules that an earlier one has compiled', async () => {
  await start('status --help').ended;
  const { stdout, stderr } = await start('status --help', { NODE_DEBUG_NATIVE: 'COMPILE_CACHE' }).ended;
  expect(stdout + stderr).toMatch(/V8 code cache for ESM \S+\/src\/cli\/status\.ts was accepted/);
});
