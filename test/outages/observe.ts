import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Prometheus } from './prometheus.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/rollcall.mjs', import.meta.url));
const STATUS_WITHIN_MS = 50_000;
const ANSWER_WITHIN_MS = 10_000;
export const SURFACES = ['status', '/readyz', '/status.json', 'metrics', 'alerts'] as const;

type Surface = (typeof SURFACES)[number];

/** What one place says, and whether that means *well*. */
export interface Said {
  readonly text: string;
  readonly isWell: boolean;
}

export type Observation = Readonly<Record<Surface, Said>>;

export interface Observed {
  readonly configPath: string;
  /** `http://host:port` of the process that mirrors. */
  readonly url: string;
  readonly prometheus: Prometheus;
}

/** Asks every place at once what it says now. A place that does not answer says so, which is not *well*. */
export async function observe({ configPath, url, prometheus }: Observed): Promise<Observation> {
  const asked = await Promise.all([
    saysStatus(configPath),
    answered(readReadiness(url)),
    answered(readStatusJson(url)),
    answered(readMetrics(url)),
    answered(readAlerts(prometheus)),
  ]);
  return Object.fromEntries(SURFACES.map((name, at) => [name, asked[at]])) as unknown as Observation;
}

export function isAllWell(observation: Observation): boolean {
  return SURFACES.every((name) => observation[name].isWell);
}

function answered(asking: Promise<Said>): Promise<Said> {
  return asking.catch((error: unknown) => ({ text: `no answer: ${String(error)}`, isWell: false }));
}

/** The first line of `rollcall status`, or that of its error. */
function saysStatus(configPath: string): Promise<Said> {
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

async function readReadiness(url: string): Promise<Said> {
  const { status, text } = await get(`${url}/readyz`);
  const { reasons = [] } = JSON.parse(text) as { reasons?: readonly { part: string }[] };
  const parts = [...new Set(reasons.map(({ part }) => part))].join(', ');
  return { text: parts === '' ? String(status) : `${status} ${parts}`, isWell: status === 200 };
}

interface StatusJson {
  readonly ready: boolean;
  readonly tenants: readonly { readonly state: string; readonly headline: string }[];
}

async function readStatusJson(url: string): Promise<Said> {
  const { ready, tenants } = JSON.parse((await get(`${url}/status.json`)).text) as StatusJson;
  const text = tenants.map(({ headline }) => headline).join('; ');
  return { text, isWell: ready || tenants.every(({ state }) => state === 'well') };
}

/** The parts whose `rollcall_ready` is 0. */
async function readMetrics(url: string): Promise<Said> {
  const { text } = await get(`${url}/metrics`);
  const parts = [...text.matchAll(/^rollcall_ready\{[^}]*part="(\w+)"[^}]*\} 0$/gm)].map(([, part]) => part);
  return { text: parts.length === 0 ? 'every part 1' : `0: ${parts.join(', ')}`, isWell: parts.length === 0 };
}

async function readAlerts(prometheus: Prometheus): Promise<Said> {
  const alerts = await prometheus.alerts();
  return { text: alerts.length === 0 ? 'none' : alerts.join(', '), isWell: alerts.length === 0 };
}
