import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathOf, type Api, type Named } from './api.ts';
import { lostFields, type Findings } from './findings.ts';
import { CHART, objectsIn, type Helm } from './helm.ts';
import type { PlayedNode, PodRun } from './node.ts';
import type { Pod } from './pod.ts';
import { until } from './world.ts';

export interface Lifecycle {
  readonly api: Api;
  readonly helm: Helm;
  readonly node: PlayedNode;
  readonly found: Findings;
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

const RELEASE = 'rollcall';
const NAME = 'rollcall-schools';
const DEPLOYMENT = { apiVersion: 'apps/v1', kind: 'Deployment' };
const WAIT = ['--wait', '--timeout', '3m'];
/** docs/operations.md and the chart promise it. */
const DRAINED_WITHIN_MS = 30_000;
/** `minReadySeconds` of the chart, the end of the old process, and the take-over. */
const HANDED_OVER_WITHIN_MS = 120_000;
/** What a namespace can hold of a release. */
const KINDS: readonly { readonly apiVersion: string; readonly kind: string }[] = [
  DEPLOYMENT,
  { apiVersion: 'apps/v1', kind: 'ReplicaSet' },
  { apiVersion: 'batch/v1', kind: 'Job' },
  { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' },
  { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' },
  { apiVersion: 'monitoring.coreos.com/v1', kind: 'PodMonitor' },
  { apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule' },
  ...['Pod', 'Service', 'ConfigMap', 'Secret', 'ServiceAccount'].map((kind) => ({ apiVersion: 'v1', kind })),
];

/** Installs, tests, upgrades, rolls back and uninstalls the chart with every option. */
export async function checkLifecycle(life: Lifecycle): Promise<void> {
  const before = await everything(life);
  const installed = await install(life);
  await runTest(life);
  const upgraded = await upgrade(life, installed);
  await refuse(life, upgraded);
  await rollBack(life, installed, upgraded);
  await expectHandOver(life, 3);
  await breakIt(life);
  await rollBack(life, installed, upgraded);
  const [, , kept] = runsOf(life, 'run');
  const isKept = kept?.isReady === true && kept.toldToEndMs === undefined;
  life.found.expect(
    isKept,
    'an upgrade whose process could not start ended no other, and so did its roll-back',
  );
  await uninstall(life, before);
}

const read = (life: Lifecycle): Promise<Deployment> =>
  life.api.must('GET', pathOf(DEPLOYMENT, life.namespace, NAME));
const checksum = (deployment: Deployment): string | undefined =>
  deployment.spec.template.metadata.annotations?.['checksum/config'];
const runsOf = ({ node }: Lifecycle, verb: string): readonly PodRun[] =>
  node.runs.filter(({ args }) => args[0] === verb);

async function valuesFile(life: Lifecycle, session: string): Promise<string> {
  const file = join(life.folder, `values-${session}.json`);
  await writeFile(file, JSON.stringify(await life.values(session)));
  return file;
}

/** Runs helm, which is to succeed without a warning; resolves with what it prints. */
async function succeed(life: Lifecycle, what: string, ...args: readonly string[]): Promise<string> {
  const began = Date.now();
  const { code, stdout, stderr } = await life.helm(...args);
  const seconds = ((Date.now() - began) / 1000).toFixed(0);
  const isGood = code === 0 && !/warning/i.test(stderr);
  life.found.expect(isGood, `${what} succeeds without a warning, after ${seconds} s`, `${stdout}\n${stderr}`);
  if (!isGood) await printLogs(life);
  return `${stdout}${stderr}`;
}

async function printLogs({ node, print }: Lifecycle): Promise<void> {
  for (const run of node.runs.slice(-2)) {
    const tail = (await run.log()).trimEnd().split('\n').slice(-15).join('\n');
    print(`${run.pod} (${run.args.join(' ')}, exit ${run.exitCode ?? 'none yet'}):\n${tail}`);
  }
}

async function install(life: Lifecycle): Promise<Deployment> {
  const { found } = life;
  const values = await valuesFile(life, '10s');
  await succeed(life, 'helm install', 'install', RELEASE, CHART, '--values', values, ...WAIT);
  const [job] = runsOf(life, 'topics');
  const [run] = runsOf(life, 'run');
  found.expect(job?.exitCode === 0, 'the Job before the installation ran "topics apply" to its end');
  const isAfter = (run?.beganMs ?? 0) >= (job?.endedMs ?? Infinity);
  found.expect(isAfter, 'the process began after the Job had ended');
  found.expect(run?.isReady === true, 'helm waited until /readyz answered with 200');
  await expectStored(life);
  await expectOneEndpoint(life);
  await expectSmall(life);
  return read(life);
}

/** What the API server stored is what the chart rendered. */
async function expectStored(life: Lifecycle): Promise<void> {
  const objects = objectsIn((await life.helm('get', 'manifest', RELEASE)).stdout);
  const problems: string[] = [];
  for (const object of objects) {
    const path = pathOf(object, life.namespace, object.metadata.name);
    const { status, body } = await life.api.send('GET', path);
    const lost = status === 200 ? lostFields(object, body) : ['it is not there'];
    problems.push(...lost.map((what) => `${object.kind} ${object.metadata.name}: ${what}`));
  }
  const kinds = objects.map(({ kind }) => kind).join(', ');
  const isGood = objects.length > 0 && problems.length === 0;
  life.found.expect(
    isGood,
    `what the API server stored is what was rendered (${kinds})`,
    problems.join('; '),
  );
}

async function expectOneEndpoint({ api, namespace, found }: Lifecycle): Promise<void> {
  const path = pathOf({ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' }, namespace);
  const isOne = async () => {
    const slices = await api.list<EndpointSlice>(path);
    return slices.flatMap(({ endpoints }) => endpoints ?? []).length === 1;
  };
  found.expect(await until(isOne), 'the Service finds the Pod of the Deployment, and no Pod of a Job');
}

/** Helm keeps each revision in a Secret, which may hold 1 MiB. */
async function expectSmall({ api, namespace, found }: Lifecycle): Promise<void> {
  const path = pathOf({ apiVersion: 'v1', kind: 'Secret' }, namespace, `sh.helm.release.v1.${RELEASE}.v1`);
  const { data } = await api.must<{ data: { release: string } }>('GET', path);
  const kib = Math.round(Buffer.from(data.release, 'base64').length / 1024);
  found.expect(kib < 512, `a revision takes ${kib} KiB of the 1,024 that a Secret may hold`);
}

async function runTest(life: Lifecycle): Promise<void> {
  const printed = await succeed(life, 'helm test', 'test', RELEASE, '--timeout', '2m');
  const [run] = runsOf(life, 'check');
  const findings = (await run?.log())?.trim() ?? '';
  life.found.expect(
    findings !== '' && printed.includes(findings),
    '"helm test" prints the findings',
    printed,
  );
  life.found.expect(
    run?.exitCode === 0,
    '"rollcall check" ran with the credentials of the release, and found nothing',
  );
}

async function upgrade(life: Lifecycle, installed: Deployment): Promise<Deployment> {
  const { found } = life;
  const values = await valuesFile(life, '12s');
  await succeed(life, 'helm upgrade', 'upgrade', RELEASE, CHART, '--values', values, ...WAIT);
  const upgraded = await read(life);
  found.expect(
    checksum(upgraded) !== checksum(installed),
    'a changed setting of the process changes the template of the Pod',
  );
  found.expect(
    runsOf(life, 'topics').filter(({ exitCode }) => exitCode === 0).length === 2,
    'the Job ran again',
  );
  await expectHandOver(life, 2);
  return upgraded;
}

/** The old process ended cleanly and in its time; the new one then took its tenants over. */
async function expectHandOver(life: Lifecycle, generation: number): Promise<void> {
  const [older, newer] = runsOf(life, 'run').slice(generation - 2);
  await until(async () => older?.endedMs !== undefined && newer?.isReady === true, HANDED_OVER_WITHIN_MS);
  const took = (older?.endedMs ?? Infinity) - (older?.toldToEndMs ?? 0);
  const isClean = older?.exitCode === 0 && took < DRAINED_WITHIN_MS;
  life.found.expect(
    isClean,
    `the old process ended with 0, ${took} ms after it was told to, of ${older?.graceSeconds} s`,
  );
  life.found.expect(newer?.isReady === true, 'the new one became ready');
}

/** Upgrades that the schema, the chart and the API server refuse leave the running process as it is. */
async function refuse(life: Lifecycle, upgraded: Deployment): Promise<void> {
  const { found } = life;
  const values = await valuesFile(life, '12s');
  const tryTo = async (by: string, change: string, words: string) => {
    const { code, stderr } = await life.helm(
      'upgrade',
      RELEASE,
      CHART,
      '--values',
      values,
      '--set',
      change,
      ...WAIT,
    );
    found.expect(code !== 0 && stderr.includes(words), `an upgrade is refused by ${by}`, stderr);
  };
  await tryTo('the schema of the values', 'nonsense=1', 'nonsense');
  await tryTo('the schema of the configuration', 'config.http.prot=1', 'prot');
  await tryTo('the templates', 'config.registry.password=open', 'is plain text');
  const { stdout } = await life.helm('history', RELEASE, '--output', 'json');
  const revisions = JSON.parse(stdout) as readonly { readonly status: string }[];
  const states = revisions.map(({ status }) => status).join(', ');
  found.expect(states === 'superseded, deployed', `helm notes no revision for these (${states})`);
  await tryTo('the API server', 'podLabels.a=not a label', 'not a label');
  // Helm then removes what the Job before it left: its ConfigMap.
  await tryTo('the Job, whose log it prints', 'config.kafka.brokers={127.0.0.1:9}', '127.0.0.1:9');
  const now = await read(life);
  const isSame = now.metadata.generation === upgraded.metadata.generation;
  const isRunning = runsOf(life, 'run').at(-1)?.exitCode === undefined;
  found.expect(isSame && isRunning, 'the Deployment is unchanged, and its process still runs');
}

/** An upgrade that nothing refuses, but whose process cannot start: a file with a secret is missing. */
async function breakIt(life: Lifecycle): Promise<void> {
  const values = await valuesFile(life, '12s');
  const change = ['--set', 'existingSecretFiles=', '--wait', '--timeout', '20s'];
  const { code } = await life.helm('upgrade', RELEASE, CHART, '--values', values, ...change);
  const broken = runsOf(life, 'run').at(-1);
  const isBroken = code !== 0 && broken?.exitCode !== 0 && broken?.isReady === false;
  life.found.expect(isBroken, 'an upgrade whose process cannot start fails, when helm waits for it');
  const log = (await broken?.log()) ?? '';
  life.found.expect(log.includes('/hub'), 'its log names the file that is missing', log);
}

async function rollBack(life: Lifecycle, installed: Deployment, upgraded: Deployment): Promise<void> {
  await succeed(life, 'helm rollback', 'rollback', RELEASE, '1', ...WAIT);
  const now = await read(life);
  const isBack = checksum(now) === checksum(installed) && checksum(now) !== checksum(upgraded);
  life.found.expect(isBack, 'the configuration of the first revision is back');
  await expectStored(life);
}

async function uninstall(life: Lifecycle, before: ReadonlySet<string>): Promise<void> {
  const last = runsOf(life, 'run').findLast(({ exitCode }) => exitCode === undefined);
  await succeed(life, 'helm uninstall', 'uninstall', RELEASE, ...WAIT);
  const isGone = await until(async () => last?.exitCode !== undefined);
  life.found.expect(isGone && last?.exitCode === 0, 'the last process ended with 0');
  await shortenJobs(life);
  const left = async () => [...(await everything(life))].filter((name) => !before.has(name));
  await until(async () => (await left()).length === 0);
  const rest = await left();
  life.found.expect(
    rest.length === 0,
    'nothing is left over, once the time of finished Jobs is up',
    rest.join(', '),
  );
}

/** Finished Jobs of hooks outlive the release for a time, with their logs; here that time is over at once. */
async function shortenJobs({ api, namespace, found }: Lifecycle): Promise<void> {
  const path = pathOf({ apiVersion: 'batch/v1', kind: 'Job' }, namespace);
  for (const { metadata, spec } of await api.list<Named & { spec: { ttlSecondsAfterFinished?: number } }>(
    path,
  )) {
    const seconds = spec.ttlSecondsAfterFinished;
    found.expect(
      seconds !== undefined,
      `the Job ${metadata.name} outlives the release, and goes after ${seconds} s`,
    );
    if (seconds === undefined) continue;
    await api.must('PATCH', `${path}/${metadata.name}`, { spec: { ttlSecondsAfterFinished: 0 } });
  }
}

/** `kind name` of all that the namespace holds. */
async function everything({ api, namespace }: Lifecycle): Promise<ReadonlySet<string>> {
  const lists = await Promise.all(KINDS.map((kind) => api.list(pathOf(kind, namespace))));
  return new Set(lists.flat().map(({ kind, metadata }) => `${kind} ${metadata.name}`));
}
