import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startReferenceHub, type ReferenceHub } from '../../reference-hub/start-reference-hub.ts';
import { StackError } from '../../stack/errors.ts';
import { freePort } from '../../stack/free-port.ts';
import { startStack, type Stack } from '../../stack/start-stack.ts';
import { startProxy, type Proxy } from '../faults/support/proxy.ts';
import { startProcess } from '../integration/support/running.ts';
import { observe, startPrometheus, type Observed, type Said } from './observe.ts';

/*
 * Takes one part after the other away from a real `rollcall run`, and prints minute by minute what everything says that
 * operators look at: `npm run check:outages`, for some outages alone with their names, such as "hub away". Exit 1 when a place
 * says *well* a minute after an outage began. Needs Prometheus 2.42 or later in the PATH; starts everything else itself.
 */

const MINUTE_MS = 60_000;
/** How long each outage lasts. */
const MINUTES = 2;
const LOOK_AGAIN_MS = 5_000;
/** The first load, and the recovery from an outage: an alert looks back over fifteen minutes. */
const WELL_WITHIN_MS = 20 * MINUTE_MS;
const TOKEN_LIFETIME_MS = 10 * MINUTE_MS;
/** Longer than the hub's client waits for an answer to begin. */
const SLOW_MS = 15_000;

/** Something that an operator may meet. */
interface Outage {
  readonly name: string;
  readonly begin: () => Promise<void> | void;
  readonly end: () => Promise<void> | void;
}

interface Parts {
  readonly hub: ReferenceHub;
  /** Between Rollcall and the hub. */
  readonly toHub: Proxy;
  readonly stack: Stack;
  /** The file with the hub's client secret. */
  readonly secretFile: string;
}

const print = (line: string): void => void process.stderr.write(`outages: ${line}\n`);

/** Every outage, in its order. Throws `StackError` unless the services run as processes that may be killed. */
function outagesOf({ hub, toHub, stack, secretFile }: Parts): readonly Outage[] {
  const wrongSecret = async (): Promise<void> => {
    await writeFile(secretFile, 'wrong');
    hub.tokens.revokeAll();
  };
  return [
    { name: 'hub away', begin: () => toHub.begin('cut'), end: () => toHub.mend() },
    { name: 'hub slow', begin: () => toHub.begin('slow', SLOW_MS), end: () => toHub.mend() },
    { name: 'wrong secret', begin: wrongSecret, end: () => writeFile(secretFile, hub.clientSecret) },
    ...(['kafka', 'redis', 'registry'] as const).flatMap((name): readonly Outage[] => {
      const processes = stack.processes[name];
      if (processes === undefined)
        throw new StackError(
          `${name} runs as ${stack.kind[name]}, so it cannot be taken away: unset its variable`,
        );
      const kill = (signal: NodeJS.Signals) => (): void => {
        for (const each of processes) each.kill(signal);
      };
      const restart = async (): Promise<void> =>
        void (await Promise.all(processes.map((each) => each.restart())));
      return [
        { name: `${name} away`, begin: kill('SIGKILL'), end: restart },
        { name: `${name} frozen`, begin: kill('SIGSTOP'), end: kill('SIGCONT') },
      ];
    }),
  ];
}

function configOf({ hub, toHub, stack, secretFile }: Parts, port: number): string {
  const via = (url: string): string => url.replace(new URL(url).host, toHub.address);
  const { clientId, baseUrl, tokenUrl } = hub;
  const clientSecret = `\${file:${secretFile}}`;
  const connection = { baseUrl: via(baseUrl), tokenUrl: via(tokenUrl), clientId, clientSecret };
  return JSON.stringify({
    // An outage of the hub shows when something is asked of it, and not sooner.
    tenants: [{ id: 'north', incrementalEvery: '20s', hub: connection }],
    kafka: { brokers: stack.kafkaBrokers, topicPrefix: 'outages' },
    registry: { url: stack.registryUrl },
    redis: { url: stack.redisUrl, keyPrefix: 'outages' },
    http: { port },
  });
}

/** Waits until every place says *well*. Throws when that takes too long. */
async function untilWell(observed: Observed): Promise<void> {
  for (const endMs = Date.now() + WELL_WITHIN_MS; ; await sleep(LOOK_AGAIN_MS)) {
    const said = await observe(observed);
    if (said.every(({ isWell }) => isWell)) return;
    if (Date.now() > endMs) throw new StackError(`not everything says well: ${textOf(said)}`);
  }
}

/** Prints what each place says at each full minute; returns where one said *well*. */
async function watch(outage: Outage, observed: Observed): Promise<readonly string[]> {
  await untilWell(observed);
  print(`${outage.name} begins`);
  const wrong: string[] = [];
  const beganMs = Date.now();
  await outage.begin();
  try {
    for (let minute = 1; minute <= MINUTES; minute += 1) {
      await sleep(beganMs + minute * MINUTE_MS - Date.now());
      const said = await observe(observed);
      process.stdout.write(`${outage.name}, minute ${minute}: ${textOf(said)}\n`);
      const well = said.filter(({ isWell }) => isWell);
      wrong.push(
        ...well.map(({ place, text }) => `${outage.name}, minute ${minute}: ${place} says well: ${text}`),
      );
    }
  } finally {
    await outage.end();
  }
  return wrong;
}

function textOf(said: readonly Said[]): string {
  return said.map(({ place, text }) => `${place}: ${text}`).join(' | ');
}

async function main(only: readonly string[]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-outages-'));
  await using stack = await startStack({ print });
  const port = await freePort();
  const { service, prometheusUrl } = await startPrometheus(join(folder, 'prometheus'), `127.0.0.1:${port}`);
  // a district at rest: students who leave would be rows on hold, and nothing would be well
  const hub = await startReferenceHub({ students: 40, tokenLifetimeMs: TOKEN_LIFETIME_MS });
  await using toHub = await startProxy(new URL(hub.baseUrl).host);
  const parts = { hub, toHub, stack, secretFile: join(folder, 'secret') };
  await writeFile(parts.secretFile, hub.clientSecret);
  const config = configOf(parts, port);
  const process = startProcess(config, 'run');
  const wrong: string[] = [];
  try {
    const observed = { config, process, prometheusUrl };
    const outages = outagesOf(parts).filter(({ name }) => only.length === 0 || only.includes(name));
    for (const outage of outages) wrong.push(...(await watch(outage, observed)));
    await untilWell(observed);
  } finally {
    await process.stop();
    await service.stop();
    await hub.stop();
  }
  for (const each of wrong) print(`✗ ${each}`);
  if (wrong.length > 0) return 1;
  await rm(folder, { recursive: true, force: true });
  print('no place said well during an outage');
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof StackError)) throw error;
  process.stderr.write(`✗ ${error.message}\n`);
  process.exitCode = 1;
}
