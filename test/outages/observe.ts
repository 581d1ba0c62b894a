import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StackError } from '../../stack/errors.ts';
import { freePort } from '../../stack/free-port.ts';
import { findInPath } from '../../stack/java-tools.ts';
import { startLocalService, type LocalService } from '../../stack/local-service.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/rollcall.mjs', import.meta.url));
const RULES = fileURLToPath(new URL('../../helm/rollcall/monitoring/alerts.yaml', import.meta.url));
const SECONDS = 15;
const STATUS_WITHIN_MS = 50_000;
const ANSWER_WITHIN_MS = 10_000;

/** What one place says, and whether that means *well*. */
export interface Said {
  readonly place: string;
  readonly text: string;
  readonly isWell: boolean;
}

export interface Observed {
  readonly configPath: string;
  /** `http://host:port` of the process that mirrors. */
  readonly url: string;
  /** The same of Prometheus. */
  readonly prometheusUrl: string;
}

/** Asks every place at once what it says now. A place that does not answer says so, which is not *well*. */
export function observe({ configPath, url, prometheusUrl }: Observed): Promise<readonly Said[]> {
  const places: readonly (readonly [place: string, asked: Promise<Omit<Said, 'place'>>])[] = [
    ['status', readStatus(configPath)],
    ['/readyz', readReadiness(url)],
    ['/status.json', readStatusJson(url)],
    ['metrics', readMetrics(url)],
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
function readStatus(configPath: string): Promise<Omit<Said, 'place'>> {
  return new Promise((resolve) => {
    const args = [PROGRAM, 'status', '--config', configPath];
    const options = { timeout: STATUS_WITHIN_MS, env: { ...process.env, NO_COLOR: '1' } };
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      const [line = ''] = (stdout || stderr).split('\n');
      const text = line === '' ? `no answer within ${STATUS_WITHIN_MS / 1000} s` : line;
      resolve({ text, isWell: error === null && text.includes('all well') });
    });
  });
}

async function get(url: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  return { status: answer.status, text: await answer.text() };
}

async function readReadiness(url: string): Promise<Omit<Said, 'place'>> {
  const { status, text } = await get(`${url}/readyz`);
  const { reasons = [] } = JSON.parse(text) as { reasons?: readonly { part: string }[] };
  const parts = [...new Set(reasons.map(({ part }) => part))].join(', ');
  return { text: `${status} ${parts}`, isWell: status === 200 };
}

async function readStatusJson(url: string): Promise<Omit<Said, 'place'>> {
  const { ready, tenants } = JSON.parse((await get(`${url}/status.json`)).text) as {
    readonly ready: boolean;
    readonly tenants: readonly { readonly state: string; readonly headline: string }[];
  };
  const text = tenants.map(({ headline }) => headline).join('; ');
  return { text, isWell: ready || tenants.every(({ state }) => state === 'well') };
}

/** The parts whose `rollcall_ready` is 0. */
async function readMetrics(url: string): Promise<Omit<Said, 'place'>> {
  const { text } = await get(`${url}/metrics`);
  const parts = [...text.matchAll(/^rollcall_ready\{[^}]*part="(\w+)"[^}]*\} 0$/gm)].map(([, part]) => part);
  return { text: `0: ${parts.join(', ')}`, isWell: parts.length === 0 };
}

async function readAlerts(url: string): Promise<Omit<Said, 'place'>> {
  const { data } = JSON.parse((await get(`${url}/api/v1/alerts`)).text) as {
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
