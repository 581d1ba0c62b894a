// Has Docker read docker-compose.yml, builds the image, and runs it as a careful platform does: not as root, without
// capabilities, with a read-only root and little memory. It needs a Docker engine, and is no part of "npm run check".
//   node scripts/container-check.mjs [--keep] [-- arguments of docker build]
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { printMemory } from './container-memory.mjs';
import { checkout } from './setup.mjs';

const IMAGE = 'rollcall:container-check';
const CONTAINER = `rollcall-container-check-${process.pid}`;
const NO_ENGINE =
  'no Docker engine answers. Install Docker and start its engine, or set DOCKER_HOST to one that runs; nothing else of Rollcall needs it.';
const HEALTHY_WITHIN_MS = 90_000;
const ENDS_WITHIN_MS = 30_000;
/** Nothing answers there: the process must stay up, say why it is not ready, and end when it is asked to. */
const CONFIG = {
  tenants: [
    {
      id: 'north',
      hub: {
        baseUrl: 'http://127.0.0.1:9/north',
        tokenUrl: 'http://127.0.0.1:9/token',
        clientId: 'rollcall',
        clientSecret: '${file:/etc/rollcall/secret}',
      },
    },
  ],
  kafka: { brokers: ['127.0.0.1:9'] },
  registry: { url: 'http://127.0.0.1:9' },
  http: { host: '0.0.0.0' },
};

const print = (/** @type {string} */ line) => process.stdout.write(`container: ${line}\n`);

/** @param {string[]} args */
function docker(...args) {
  const { error, status, ...streams } = spawnSync('docker', args, {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    cwd: checkout,
  });
  // without a docker command there is no output at all
  const { stdout = '', stderr = '' } = error === undefined ? streams : { stderr: error.message };
  return { status, output: stdout.trim(), all: `${stdout}${stderr}`.trim() };
}

/** @type {string[]} */
const problems = [];
/** @param {boolean} isTrue @param {string} what */
const expect = (isTrue, what) => {
  print(`${isTrue ? 'ok    ' : 'FAILED'} ${what}`);
  if (!isTrue) problems.push(what);
};

/** Runs a program of the image to its end. @param {string} entry @param {string[]} args */
const inside = (entry, ...args) =>
  docker(
    'run',
    '--rm',
    '--read-only',
    '--cap-drop',
    'ALL',
    '--network',
    'none',
    '--entrypoint',
    entry,
    IMAGE,
    ...args,
  );

function build() {
  const own = process.argv.includes('--') ? process.argv.slice(process.argv.indexOf('--') + 1) : [];
  print(`docker build ${own.join(' ')}`);
  const { status, all } = docker('build', '--tag', IMAGE, ...own, '.');
  if (status !== 0) print(all.split('\n').slice(-20).join('\n'));
  return status === 0;
}

function inspect() {
  const [{ Config: config, Size: size }] = JSON.parse(docker('image', 'inspect', IMAGE).output);
  print(`size ${(size / 1e6).toFixed(0)} MB`);
  expect(config.User === '10001:10001', 'the user is a number, and not root');
  expect(config.Healthcheck?.Test?.length > 0, 'there is a health check');
  const bom = JSON.parse(inside('cat', 'sbom.cdx.json').output || '{}');
  const named = (bom.components ?? []).map((/** @type {{ name: string }} */ { name }) => name);
  expect(
    named.includes('kafkajs') && !named.includes('vitest'),
    `the list of parts names ${named.length} packages`,
  );
  const files = inside('ls', '/app', '/app/node_modules').output.split('\n');
  const unwanted = [
    'src',
    'test',
    'scripts',
    'reference-hub',
    'helm',
    '.git',
    'vitest',
    'typescript',
    'testcontainers',
  ];
  expect(!unwanted.some((name) => files.includes(name)), 'it holds nothing for development');
  expect(
    inside('rollcall', 'help', 'KAFKA_UNREACHABLE').output.includes('rollcall check'),
    'rollcall is on the PATH, works on a read-only root, and prints runbooks',
  );
  const writes = inside('node', '-e', "require('fs').writeFileSync('/app/x', '')");
  expect(writes.status !== 0, 'nothing can be written below /app');
}

/** The memory settings of the image's environment work with its Node and its C library, and not only on this machine. */
function inspectMemory() {
  const { status, output, all } = inside('node', '--expose-gc', '-e', `(${printMemory.toString()})()`);
  const { young, kept } = status === 0 ? JSON.parse(output) : {};
  expect(young <= 16, `the young generation stays within 16 MiB (${young ?? all} MiB)`);
  expect(kept < 8, `glibc returns large buffers: of 60 MiB its heap keeps ${kept ?? all} MiB`);
}

/** @param {string} folder */
async function run(folder) {
  const mounts = ['rollcall.yaml', 'secret'].flatMap((name) => [
    '--volume',
    `${join(folder, name)}:/etc/rollcall/${name}:ro`,
  ]);
  const limits = [
    '--read-only',
    '--cap-drop',
    'ALL',
    '--security-opt',
    'no-new-privileges',
    '--memory',
    '512m',
  ];
  const started = docker(
    'run',
    '--detach',
    '--name',
    CONTAINER,
    '--network',
    'none',
    ...limits,
    ...mounts,
    IMAGE,
  );
  if (started.status !== 0) return expect(false, `it starts: ${started.all}`);
  const health = () => docker('inspect', '--format', '{{.State.Health.Status}}', CONTAINER).output;
  const giveUpAt = Date.now() + HEALTHY_WITHIN_MS;
  while (health() === 'starting' && Date.now() < giveUpAt) await sleep(500);
  expect(health() === 'healthy', `it is healthy while no service answers (${health()})`);
  const ask =
    "fetch('http://127.0.0.1:8080/readyz').then(async (r) => console.log(r.status, await r.text()))";
  const ready = docker('exec', CONTAINER, 'node', '-e', ask).output;
  const parts = [...ready.matchAll(/"part":"([a-z]+)"/g)].map(([, part]) => part).join(', ');
  expect(ready.startsWith('503') && parts !== '', `it is not ready, and says why: ${parts}`);
  const before = Date.now();
  docker('stop', '--time', '40', CONTAINER);
  const code = docker('inspect', '--format', '{{.State.ExitCode}}', CONTAINER).output;
  expect(
    code === '0' && Date.now() - before < ENDS_WITHIN_MS,
    `it ends with 0 when it is asked to (${code}, ${Date.now() - before} ms)`,
  );
  const log = docker('logs', CONTAINER).all;
  expect(!log.includes('S3CRET'), 'its log does not hold the secret');
}

const folder = mkdtempSync(join(tmpdir(), 'rollcall-container-'));
try {
  writeFileSync(join(folder, 'rollcall.yaml'), JSON.stringify(CONFIG));
  writeFileSync(join(folder, 'secret'), 'S3CRET');
  const engine = docker('version');
  if (engine.status !== 0) throw new Error(`${NO_ENGINE} docker version said: ${engine.all}`);
  const compose = docker('compose', 'config', '--quiet');
  expect(compose.status === 0, `docker-compose.yml is sound ${compose.all}`.trim());
  if (!build()) throw new Error('the image cannot be built');
  inspect();
  inspectMemory();
  await run(folder);
} catch (error) {
  expect(false, error instanceof Error ? error.message : String(error));
} finally {
  docker('rm', '--force', CONTAINER);
  if (!process.argv.includes('--keep')) docker('image', 'rm', IMAGE);
  rmSync(folder, { recursive: true });
}
print(problems.length === 0 ? 'all good' : `${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;
