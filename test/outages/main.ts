import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startReferenceHub, type ReferenceHub } from '../../reference-hub/start-reference-hub.ts';
import { StackError } from '../../stack/errors.ts';
import { freePort } from '../../stack/free-port.ts';
import { startStack, type Stack } from '../../stack/start-stack.ts';
import { startProxy, type Proxy } from '../faults/support/proxy.ts';
import { isAllWell, observe, type Observed } from './observe.ts';
import { outagesOf, type Outage } from './outages.ts';
import { startPrometheus } from './prometheus.ts';
import { tableOf, wrongIn, type Row } from './table.ts';

/*
 * Takes one part after the other away from a real `rollcall run`, and prints minute by minute what everything says that
 * operators look at. Exit 1 when a place says *well* a minute after an outage began, 2 on bad use.
 */

const USAGE = `npm run check:outages [-- options]
  --minutes N     how long each outage lasts (default 2)
  --only <name>   only this outage, such as "hub away"; may be given more than once

Needs Prometheus 2.42 or later in the PATH; starts everything else itself.
`;
const PROGRAM = fileURLToPath(new URL('../../bin/rollcall.mjs', import.meta.url));
const MINUTE_MS = 60_000;
const LOOK_AGAIN_MS = 5_000;
/** The first load, and the recovery from an outage: an alert looks back over fifteen minutes. */
const WELL_WITHIN_MS = 20 * MINUTE_MS;
const TOKEN_LIFETIME_MS = 10 * MINUTE_MS;

const print = (line: string): void => void process.stderr.write(`outages: ${line}\n`);

function readOptions(): { minutes: number; only: readonly string[] } {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '2' },
      only: { type: 'string', multiple: true, default: [] },
    },
  });
  const minutes = Number(values.minutes);
  if (!Number.isSafeInteger(minutes) || minutes < 1)
    throw new TypeError('--minutes takes a whole number from 1');
  return { minutes, only: values.only };
}

function configOf(parts: {
  stack: Stack;
  hub: ReferenceHub;
  toHub: Proxy;
  port: number;
  secretFile: string;
}): string {
  const { stack, hub, toHub, port, secretFile } = parts;
  const via = (url: string): string => url.replace(new URL(url).host, toHub.address);
  return JSON.stringify({
    tenants: [
      {
        id: 'north',
        // An outage of the hub shows when something is asked of it, and not sooner.
        deltaEvery: '20s',
        hub: {
          baseUrl: via(hub.baseUrl),
          tokenUrl: via(hub.tokenUrl),
          clientId: hub.clientId,
          clientSecret: `\${file:${secretFile}}`,
        },
      },
    ],
    kafka: { brokers: stack.kafkaBrokers, replicationFactor: 1, topicPrefix: 'outages' },
    registry: { url: stack.registryUrl },
    redis: { url: stack.redisUrl, keyPrefix: 'outages' },
    http: { port },
  });
}

function startRun(configPath: string, logFile: string): ChildProcess {
  const log = openSync(logFile, 'w');
  const child = spawn(process.execPath, [PROGRAM, 'run', '--config', configPath], {
    stdio: ['ignore', log, log],
  });
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

/** Waits until every place says *well*; returns the row, and after how long. Throws when that takes too long. */
async function untilWell(observed: Observed, outage: string): Promise<Row> {
  const endMs = Date.now() + WELL_WITHIN_MS;
  for (;;) {
    const observation = await observe(observed);
    const row = { outage, minute: null, observation };
    if (isAllWell(observation)) return row;
    if (Date.now() > endMs) throw new StackError(`not everything says well:\n${tableOf([row])}`);
    await sleep(LOOK_AGAIN_MS);
  }
}

async function watch(outage: Outage, observed: Observed, minutes: number): Promise<readonly Row[]> {
  const rows: Row[] = [await untilWell(observed, outage.name)];
  print(`${outage.name} begins`);
  const beganMs = Date.now();
  await outage.begin();
  try {
    for (let minute = 1; minute <= minutes; minute += 1) {
      // Each look begins at the full minute, whatever the one before took.
      await sleep(beganMs + minute * MINUTE_MS - Date.now());
      const row = { outage: outage.name, minute, observation: await observe(observed) };
      rows.push(row);
      print(tableOf([row]).split('\n').at(-1) ?? '');
    }
  } finally {
    await outage.end();
  }
  return rows;
}

async function main(): Promise<number> {
  const { minutes, only } = readOptions();
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-outages-'));
  await using stack = await startStack({ print });
  const port = await freePort();
  const prometheus = await startPrometheus(join(folder, 'prometheus'), `127.0.0.1:${port}`);
  // a district at rest: students who leave would be withheld deletions, and nothing would be well
  const hub = await startReferenceHub({ students: 40, tokenLifetimeMs: TOKEN_LIFETIME_MS });
  await using toHub = await startProxy({ target: new URL(hub.baseUrl).host });
  const secretFile = join(folder, 'secret');
  await writeFile(secretFile, hub.clientSecret);
  const configPath = join(folder, 'rollcall.yaml');
  await writeFile(configPath, configOf({ stack, hub, toHub, port, secretFile }));
  const all = outagesOf({ hub, toHub, stack, secretFile });
  const outages = all.filter(({ name }) => only.length === 0 || only.includes(name));
  const child = startRun(configPath, join(folder, 'rollcall.log'));
  const ended = once(child, 'exit');
  const rows: Row[] = [];
  try {
    const observed = { configPath, url: `http://127.0.0.1:${port}`, prometheus };
    for (const outage of outages) rows.push(...(await watch(outage, observed, minutes)));
    if (outages.length > 0) await untilWell(observed, 'none');
  } finally {
    process.stdout.write(`${tableOf(rows)}\n`);
    child.kill('SIGTERM');
    await ended;
    await prometheus.service.stop();
    await hub.stop();
  }
  const wrong = wrongIn(rows);
  for (const each of wrong) print(`✗ ${each}`);
  if (wrong.length > 0) return 1;
  await rm(folder, { recursive: true, force: true });
  print('no place said well during an outage');
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof StackError) && !(error instanceof TypeError)) throw error;
  process.stderr.write(`✗ ${error.message}\n${error instanceof TypeError ? USAGE : ''}`);
  process.exitCode = error instanceof TypeError ? 2 : 1;
}
