import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StackError } from '../../stack/errors.ts';
import { freePort } from '../../stack/free-port.ts';
import { findInPath } from '../../stack/java-tools.ts';
import { startLocalService, type LocalService } from '../../stack/local-service.ts';

const RULES = fileURLToPath(new URL('../../helm/rollcall/monitoring/alerts.yaml', import.meta.url));
const SECONDS = 15;

export interface Prometheus {
  readonly service: LocalService;
  /** `RollcallHubAway pending`, sorted. Throws when Prometheus does not answer. */
  alerts(): Promise<readonly string[]>;
}

/** Starts a Prometheus that scrapes `target` and evaluates the project's alerts. Throws `StackError`. */
export async function startPrometheus(folder: string, target: string): Promise<Prometheus> {
  const command = findInPath('prometheus');
  if (command === undefined)
    throw new StackError('There is no prometheus in the PATH: install Prometheus 2.42 or later');
  await mkdir(folder, { recursive: true });
  const config = {
    global: { scrape_interval: `${SECONDS}s`, evaluation_interval: `${SECONDS}s` },
    rule_files: [RULES],
    scrape_configs: [{ job_name: 'rollcall', static_configs: [{ targets: [target] }] }],
  };
  const file = join(folder, 'prometheus.yaml');
  await writeFile(file, JSON.stringify(config));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const service = await startLocalService(
    {
      name: 'Prometheus',
      command,
      args: [
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      folder,
      isReady: async (signal) => (await fetch(`${url}/-/ready`, { signal })).ok,
      readyTimeoutMs: 30_000,
      stopTimeoutMs: 10_000,
    },
    new AbortController().signal,
  );
  return { service, alerts: () => readAlerts(url) };
}

interface AlertsAnswer {
  readonly data: {
    readonly alerts: readonly { readonly state: string; readonly labels: { readonly alertname: string } }[];
  };
}

async function readAlerts(url: string): Promise<readonly string[]> {
  const { data } = (await (await fetch(`${url}/api/v1/alerts`)).json()) as AlertsAnswer;
  return [...new Set(data.alerts.map(({ labels, state }) => `${labels.alertname} ${state}`))].toSorted();
}
