import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { NODE_FLAGS } from '../../../bin/bounded-memory.mjs';
import { configFile, PROGRAM, spawnProgram, type Running } from '../../integration/support/running.ts';
import { yamlWith } from '../config/config-text.ts';

const SAY_WHEN_LOADING = new URL('say-when-loading.mjs', import.meta.url).href;
const sockets = new Set<Socket>();
/** A broker that takes connections and never answers. Nothing listens on port 9. */
const broker = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
await once(broker.listen(0, '127.0.0.1'), 'listening');
const address = `127.0.0.1:${(broker.address() as AddressInfo).port}`;
const yaml = yamlWith({ root: 'http: { port: 0 }\nredis: { url: "redis://127.0.0.1:9" }' });
const config = configFile(yaml.replace('localhost:9092', address));
afterAll(() => {
  broker.close();
  for (const socket of sockets) socket.destroy();
  config.remove();
});

/** With the flags that "run" wants, so that it does not start Node a second time. */
const command = () => [
  process.execPath,
  ...NODE_FLAGS,
  '--import',
  SAY_WHEN_LOADING,
  PROGRAM,
  '--config',
  config.path,
];

function start(words: string, env: Readonly<Record<string, string>> = {}): Running {
  const own = { PATH: process.env['PATH'], HUB_SECRET: 'x', ROLLCALL_COMMAND: 'rollcall' };
  return spawnProgram([...command(), ...words.split(' ')], { ...own, ...env });
}

it.each([0, 200, 1000])('"run" ends with 0 after a signal %i ms into its start-up', async (afterMs) => {
  await using program = start('run');
  await program.says('loading');
  await sleep(afterMs);
  expect(await program.stop()).toMatchObject({ code: 0 });
});

it('"run" starts Node with flags that bound its memory, and other verbs add no flags', async () => {
  const report = `data:text/javascript,console.log(process.execArgv.join(" "), process.env.MALLOC_ARENA_MAX)`;
  const startsOf = (verb: string) =>
    spawnProgram([process.execPath, '--import', report, PROGRAM, verb, '--help']).ended;
  expect((await startsOf('run')).stdout).toContain(`${NODE_FLAGS.join(' ')} --import ${report} 1\nUsage`);
  expect((await startsOf('pull')).stdout).toContain(`--import ${report} undefined\nUsage`);
});

it.each([
  ['tail users', 'SIGINT', 0],
  ['pull', 'SIGTERM', 1],
])('"%s" exits with its own code after an early %s, and is not killed by it', async (words, signal, code) => {
  expect(await start(words, { EARLY_SIGNAL: signal }).ended).toMatchObject({ code });
});

it('a verb says that it waits for Kafka, and ends with 1 when it is stopped', async () => {
  await using program = start('status');
  await program.says('Kafka');
  const waits = `Kafka (${address}): still waiting for any broker. If brokers are down, this takes half a minute at most.`;
  const said = `${waits}\n✗ stopped before it was done\n`;
  expect(await program.stop()).toMatchObject({ code: 1, stderr: `loading\n${said}` });
});

it('the program ends without an error when the reader of its output goes away', async () => {
  const line = `{ ${command().join(' ')} help operations; echo ended with $? >&2; } | true`;
  await using shell = spawnProgram(['sh', '-c', line]);
  expect(await shell.ended).toMatchObject({ stderr: 'loading\nended with 0\n' });
});

it('a second start of the program uses the modules that an earlier start has compiled', async () => {
  await start('status --help').ended;
  const { stdout, stderr } = await start('status --help', { NODE_DEBUG_NATIVE: 'COMPILE_CACHE' }).ended;
  expect(stdout + stderr).toMatch(/V8 code cache for ESM \S+\/src\/cli\/status\.ts was accepted/);
});

it.each(['check', 'run'])('"%s" warns of settings that send secrets or rows unencrypted', async (verb) => {
  const kafka = 'ssl: false\nsasl: { mechanism: plain, username: u, password: p }';
  const far = yamlWith({ kafka, root: 'http: { port: 0 }' }).replace('localhost', 'kafka.invalid');
  const open = configFile(far.replaceAll('https:', 'http:'));
  await using program = start(`${verb} --config ${open.path}`);
  for (const setting of [
    'hub.baseUrl http://hub.example',
    'hub.tokenUrl http://id.example',
    'kafka.sasl without kafka.ssl',
  ])
    await program.says(`${setting}: credentials or rows cross the network unencrypted`);
  open.remove();
});
