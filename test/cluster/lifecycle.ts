import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathOf, type Api, type Named } from './api.ts';
import { CHART, type Helm } from './helm.ts';
import type { PlayedNode, PodRun } from './node.ts';
import type { Pod } from './pod.ts';
import { until, type Expect } from './world.ts';

export interface Lifecycle {
  readonly api: Api;
  readonly helm: Helm;
  readonly node: PlayedNode;
  readonly expect: Expect;
  readonly namespace: string;
  readonly folder: string;
  readonly print: (line: string) => void;
  /** The values of a release, with this `kafka.session`. */
  readonly values: (session: string) => Promise<object>;
}

interface Deployment extends Named {
  readonly metadata: Named['metadata'] & { readonly generation: number };
  readonly spec: { readonly template: Pod };
}

interface EndpointSlice extends Named {
  readonly endpoints: readonly { readonly addresses: readonly string[] }[] | null;
}

interface Job extends Named {
  readonly spec: { readonly ttlSecondsAfterFinished?: number };
}

const RELEASE = 'rollcall';
const NAME = 'rollcall-schools';
const DEPLOYMENT = { apiVersion: 'apps/v1', kind: 'Deployment' };
const JOB = { apiVersion: 'batch/v1', kind: 'Job' };
const SLICE = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' };
const WAIT = ['--wait', '--timeout', '3m'];
/** docs/operations.md and the chart promise it. */
const DRAINED_WITHIN_MS = 30_000;
/** `minReadySeconds` of the chart, the end of the old process, and the take-over. */
const HANDED_OVER_WITHIN_MS = 120_000;
/** What a namespace can hold of a release. */
const KINDS: readonly { readonly apiVersion: string; readonly kind: string }[] = [
  DEPLOYMENT,
  JOB,
  SLICE,
  { apiVersion: 'apps/v1', kind: 'ReplicaSet' },
  { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' },
  { apiVersion: 'monitoring.coreos.com/v1', kind: 'PodMonitor' },
  { apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule' },
  ...['Pod', 'Service', 'ConfigMap', 'Secret', 'ServiceAccount'].map((kind) => ({ apiVersion: 'v1', kind })),
];

/** Installs, tests, upgrades, rolls back and uninstalls the chart with every option. */
export async function checkLifecycle(life: Lifecycle): Promise<void> {
  const before = await everything(life);
  const installed = await install(life);
  const upgraded = await upgrade(life, installed);
  await refuse(life, upgraded);
  await breakAndRollBack(life, upgraded);
  await uninstall(life, before);
}

const read = (life: Lifecycle): Promise<Deployment> =>
  life.api.must('GET', pathOf(DEPLOYMENT, life.namespace, NAME));
const checksum = (deployment: Deployment): string | undefined =>
  deployment.spec.template.metadata.annotations?.['checksum/config'];
const runsOf = ({ node }: Lifecycle, verb: string): readonly PodRun[] =>
  node.runs.filter(({ args }) => args[0] === verb);

/** The arguments of an installation or upgrade with this `kafka.session`. */
async function withSession(life: Lifecycle, session: string): Promise<readonly string[]> {
  const file = join(life.folder, `values-${session}.json`);
  await writeFile(file, JSON.stringify(await life.values(session)));
  return [RELEASE, CHART, '--values', file];
}

/** Runs helm, which is to succeed without a warning; resolves with what it prints. */
async function succeed(life: Lifecycle, verb: string, ...args: readonly string[]): Promise<string> {
  const began = Date.now();
  const { code, stdout, stderr } = await life.helm(verb, ...args);
  const seconds = ((Date.now() - began) / 1000).toFixed(0);
  const isGood = code === 0 && !/warning/i.test(stderr);
  life.expect(isGood, `helm ${verb} succeeds without a warning, after ${seconds} s`, `${stdout}\n${stderr}`);
  if (!isGood)
    for (const run of life.node.runs.slice(-2)) {
      const tail = (await run.log()).trimEnd().split('\n').slice(-15).join('\n');
      life.print(`${run.pod} (${run.args.join(' ')}, exit ${run.exitCode ?? 'none yet'}):\n${tail}`);
    }
  return `${stdout}${stderr}`;
}

async function install(life: Lifecycle): Promise<Deployment> {
  const { api, expect, namespace } = life;
  await succeed(life, 'install', ...(await withSession(life, '10s')), ...WAIT);
  const [job] = runsOf(life, 'topics');
  const [run] = runsOf(life, 'run');
  expect(job?.exitCode === 0, 'the Job before the installation ran "topics apply" to its end');
  const isAfter = (run?.beganMs ?? 0) >= (job?.endedMs ?? Infinity);
  expect(isAfter, 'the process began after the Job had ended');
  expect(run?.isReady === true, 'helm waited until /readyz answered with 200');
  const isOne = await until(async () => {
    const slices = await api.list<EndpointSlice>(pathOf(SLICE, namespace));
    return slices.flatMap(({ endpoints }) => endpoints ?? []).length === 1;
  });
  expect(isOne, 'the Service finds the Pod of the Deployment, and no Pod of a Job');

  const printed = await succeed(life, 'test', RELEASE, '--timeout', '2m');
  const [check] = runsOf(life, 'check');
  const findings = (await check?.log())?.trim() ?? '';
  expect(findings !== '' && printed.includes(findings), '"helm test" prints the findings', printed);
  expect(
    check?.exitCode === 0,
    '"rollcall check" ran with the credentials of the release, and found nothing',
  );
  return read(life);
}

async function upgrade(life: Lifecycle, installed: Deployment): Promise<Deployment> {
  const { expect } = life;
  await succeed(life, 'upgrade', ...(await withSession(life, '12s')), ...WAIT);
  const upgraded = await read(life);
  const isChanged = checksum(upgraded) !== checksum(installed);
  expect(isChanged, 'a changed setting of the process changes the template of the Pod');
  const jobs = runsOf(life, 'topics').filter(({ exitCode }) => exitCode === 0);
  expect(jobs.length === 2, 'the Job ran again');
  const [older, newer] = runsOf(life, 'run');
  await until(async () => older?.endedMs !== undefined && newer?.isReady === true, HANDED_OVER_WITHIN_MS);
  const took = (older?.endedMs ?? Infinity) - (older?.askedToEndMs ?? 0);
  expect(
    older?.exitCode === 0 && took < DRAINED_WITHIN_MS,
    `the older process ended with 0 after ${took} ms`,
  );
  expect(newer?.isReady === true, 'the newer one became ready');
  return upgraded;
}

/** An upgrade that the Job refuses (`npm run check:helm` has those that schema and templates refuse) leaves the process as it is. */
async function refuse(life: Lifecycle, upgraded: Deployment): Promise<void> {
  const change = ['--set', 'config.kafka.brokers={127.0.0.1:9}'];
  const { code, stderr } = await life.helm(
    'upgrade',
    ...(await withSession(life, '12s')),
    ...change,
    ...WAIT,
  );
  const isRefused = code !== 0 && stderr.includes('127.0.0.1:9');
  life.expect(isRefused, 'an upgrade is refused by the Job, whose log helm prints', stderr);
  const now = await read(life);
  const isSame = now.metadata.generation === upgraded.metadata.generation;
  const isRunning = runsOf(life, 'run').at(-1)?.exitCode === undefined;
  life.expect(isSame && isRunning, 'the Deployment is unchanged, and its process still runs');
}

/** An upgrade that nothing refuses, but whose process cannot start, since a file with a secret is missing, is taken back. */
async function breakAndRollBack(life: Lifecycle, upgraded: Deployment): Promise<void> {
  const { expect } = life;
  const change = ['--set', 'existingSecretFiles=', '--wait', '--timeout', '20s'];
  const { code } = await life.helm('upgrade', ...(await withSession(life, '12s')), ...change);
  const broken = runsOf(life, 'run').at(-1);
  const isBroken = code !== 0 && broken?.exitCode !== 0 && broken?.isReady === false;
  expect(isBroken, 'an upgrade whose process cannot start fails, when helm waits for it');
  const log = (await broken?.log()) ?? '';
  expect(log.includes('/hub'), 'its log names the file that is missing', log);
  await succeed(life, 'rollback', RELEASE, '2', ...WAIT);
  expect(checksum(await read(life)) === checksum(upgraded), 'the configuration of the revision is back');
  const [, kept] = runsOf(life, 'run');
  const isKept = kept?.isReady === true && kept.askedToEndMs === undefined;
  expect(isKept, 'neither that upgrade nor its roll-back ended the process that ran');
}

async function uninstall(life: Lifecycle, before: ReadonlySet<string>): Promise<void> {
  const { api, expect, namespace } = life;
  const [, last] = runsOf(life, 'run');
  await succeed(life, 'uninstall', RELEASE, ...WAIT);
  await until(async () => last?.exitCode !== undefined);
  expect(last?.exitCode === 0, 'the last process ended with 0');
  // Finished Jobs of hooks outlive the release for a time, with their logs; here that time is over at once.
  for (const { metadata, spec } of await api.list<Job>(pathOf(JOB, namespace))) {
    expect(spec.ttlSecondsAfterFinished !== undefined, `the Job ${metadata.name} goes after some time`);
    await api.must('PATCH', pathOf(JOB, namespace, metadata.name), { spec: { ttlSecondsAfterFinished: 0 } });
  }
  const left = async () => [...(await everything(life))].filter((name) => !before.has(name));
  const isClean = await until(async () => (await left()).length === 0);
  expect(isClean, 'nothing is left over, once the time of finished Jobs is up', (await left()).join(', '));
}

/** `kind name` of all that the namespace holds. */
async function everything({ api, namespace }: Lifecycle): Promise<ReadonlySet<string>> {
  const lists = await Promise.all(KINDS.map((kind) => api.list(pathOf(kind, namespace))));
  return new Set(lists.flat().map(({ kind, metadata }) => `${kind} ${metadata.name}`));
}
