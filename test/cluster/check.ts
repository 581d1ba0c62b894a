import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { checkAccepted } from './accepted.ts';
import type { Api } from './api.ts';
import { createExpect } from './expect.ts';
import { startControlPlane, type Programs } from './control-plane.ts';
import { helmFor } from './helm.ts';
import { checkRelease } from './release.ts';

export interface CheckOptions {
  readonly programs: Programs & { readonly helm: string };
  /** The Prometheus Operator's CRDs. */
  readonly crdFolder: string;
  readonly print: (line: string) => void;
  /** Whether to leave the folder with all logs. */
  readonly isKept: boolean;
}

const NAMESPACE = 'schools';
/** The CRDs of the kinds that the chart can render. */
const CRDS = ['podmonitors', 'prometheusrules'];
const LOOK_AGAIN_MS = 200;
const SERVED_WITHIN_MS = 60_000;

/** Checks the chart against a real API server; resolves with what is not as it should be. Throws `StackError`. */
export async function checkChart(options: CheckOptions): Promise<readonly string[]> {
  const { programs, crdFolder, print, isKept } = options;
  const { expect, problems } = createExpect(print);
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-cluster-'));
  try {
    print('starting etcd and kube-apiserver');
    await using plane = await startControlPlane(programs, folder);
    const { api } = plane;
    await preparePlatform(api, crdFolder);
    const helm = helmFor(programs.helm, plane.kubeconfig, NAMESPACE, folder);
    await checkAccepted(api, helm, NAMESPACE, expect);
    await checkRelease(api, helm, NAMESPACE, expect);
    return problems;
  } finally {
    if (isKept) print(`logs: ${folder}`);
    else await rm(folder, { recursive: true, force: true });
  }
}

/** Stores what a platform has before the chart is installed: CRDs, and a namespace for restricted Pods. */
async function preparePlatform(api: Api, crdFolder: string): Promise<void> {
  for (const file of await readdir(crdFolder))
    if (CRDS.some((plural) => file === `monitoring.coreos.com_${plural}.yaml`))
      await api.must(
        'POST',
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
        parse(await readFile(join(crdFolder, file), 'utf8')) as object,
      );
  const levels = ['enforce', 'warn', 'audit'].map((mode) => [
    `pod-security.kubernetes.io/${mode}`,
    'restricted',
  ]);
  const labels = Object.fromEntries(levels) as Record<string, string>;
  await api.must('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE, labels } });
  const signal = AbortSignal.timeout(SERVED_WITHIN_MS);
  for (const plural of CRDS)
    while ((await api.send('GET', `/apis/monitoring.coreos.com/v1/${plural}`)).status !== 200)
      await sleep(LOOK_AGAIN_MS, undefined, { signal });
}
