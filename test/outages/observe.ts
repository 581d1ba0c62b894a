import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StackError } from '../../stack/errors.ts';
import { freePort } from '../../stack/free-port.ts';
import { findInPath } from '../../stack/java-tools.ts';
import { startLocalService, type LocalService } from '../../stack/local-service.ts';
import { startProcess, type Running } from '../integration/support/running.ts';

const RULES = fileURLToPath(new URL('../../helm/rollcall/monitoring/alerts.yaml', import.meta.url));
const SECONDS = 15;

/** What one place says, and whether that means *well*. */
export interface Said {
  readonly place: string;
  readonly text: string;
  readonly isWell: boolean;
}

export interface Observed {
  readonly config: string;
  /** The process that mirrors. */
  readonly process: Running;
  /** `http://host:port`. */
  readonly prometheusUrl: string;
}

/** Asks every place at once what it says now. A place that does not answer says so, which is not *well*. */
export function observe({ config, process, prometheusUrl }: Observed): Promise<readonly Said[]> {
  const places: readonly (readonly [place: string, asked: Promise<Omit<Said, 'place'>>])[] = [
    ['status', readStatus(config)],
    ['/readyz', readReadiness(process)],
    ['/status.json', readStatusJson(process)],
    ['metrics', readMetrics(process)],
    ['alerts', readAlerts(prometheusUrl)],
  ];
  return Promise.all(
    places.map(async ([place, asked]) => {
      const noAnswer = (error: unknown) => ({ text: `no answer: ${String(error)}`, isWell: false });
      const { text, isWell } = await asked.catch(noAnswer);
      return { place, text, isWell };
    }),
  );
}

/** The first line of `rollcall status`, or that of its error. */
async function readStatus(config: string): Promise<Omit<Said, 'place'>> {
  await using status = startProcess(config, 'status');
  const { code, stdout, stderr } = await status.ended;
  const [text = ''] = (stdout || stderr).split('\n');
  return { text, isWell: code === 0 && text.includes('all well') };
}

async function readReadiness(process: Running): Promise<Omit<Said, 'place'>> {
  const answer = await process.get('/readyz');
  const { reasons = [] } = (await answer.json()) as { reasons?: readonly { part: string }[] };
  const parts = [...new Set(reasons.map(({ part }) => part))].join(', ');
  return { text: `${answer.status} ${parts}`, isWell: answer.ok };
}

async function readStatusJson(process: Running): Promise<Omit<Said, 'place'>> {
  const { ready, tenants } = (await (await process.get('/status.json')).json()) as {
    readonly ready: boolean;
    readonly tenants: readonly { readonly state: string; readonly headline: string }[];
  };
  const text = tenants.map(({ headline }) => headline).join('; ');
  return { text, isWell: ready || tenants.every(({ state }) => state === 'well') };
}

/** The parts whose `rollcall_ready` is 0. */
async function readMetrics(process: Running): Promise<Omit<Said, 'place'>> {
  const text = await (await process.get('/metrics')).text();
  const parts = [...text.matchAll(/^rollcall_ready\{[^}]*part="(\w+)"[^}]*\} 0$/gm)].map(([, part]) => part);
  return { text: `0: ${parts.join(', ')}`, isWell: parts.length === 0 };
}

async function readAlerts(url: string): Promise<Omit<Said, 'place'>> {
  const { data } = (await (await fetch(`${url}/api/v1/alerts`)).json()) as {
    readonly data: { readonly alerts: readonly { labels: { alertname: string }; state: string }[] };
  };
  const alerts = new Set(data.alerts.map(({ labels, state }) => `${labels.alertname} ${state}`));
  return { text: [...alerts].sort().join(', '), isWell: alerts.size === 0 };
}

/** Starts a Prometheus that scrapes `target` (`host:port`) and evaluates the project's alerts. Throws `StackError`. */
export async function startPrometheus(
  folder: string,
  target: string,
): Promise<{ service: LocalService; prometheusUrl: string }> {
  const command = findInPath('prometheus');
  if (command === undefined)
    throw new StackError('There is no prometheus in the PATH: install Prometheus 2.42 or later');
  await mkdir(folder, { recursive: true });
  const file = join(folder, 'prometheus.yaml');
  const config = {
    global: { scrape_interval: `${SECONDS}s`, evaluation_interval: `${SECONDS}s` },
    rule_files: [RULES],
    scrape_configs: [{ job_name: 'rollcall', static_configs: [{ targets: [target] }] }],
  };
  await writeFile(file, JSON.stringify(config));
  const address = `127.0.0.1:${await freePort()}`;
  const [data, prometheusUrl] = [join(folder, 'data'), `http://${address}`];
  const args = [`--config.file=${file}`, `--storage.tsdb.path=${data}`, `--web.listen-address=${address}`];
  const isReady = async (signal: AbortSignal): Promise<boolean> =>
    (await fetch(`${prometheusUrl}/-/ready`, { signal })).ok;
  const times = { readyTimeoutMs: 30_000, stopTimeoutMs: 10_000 };
  const service = await startLocalService(
    { name: 'Prometheus', command, args, folder, isReady, ...times },
    new AbortController().signal,
  );
  return { service, prometheusUrl };
}
