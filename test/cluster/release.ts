import { join } from 'node:path';
import { pathOf, type Api, type Named } from './api.ts';
import type { Expect } from './expect.ts';
import { CHART, yamlFiles, type Helm } from './helm.ts';

interface List extends Named {
  readonly items: readonly Pick<Named, 'metadata'>[];
}

const RELEASE = 'rollcall';
/** The hooks are Jobs, which end only where a controller and a kubelet run. */
const WITHOUT_JOBS = '--no-hooks';
/** What the chart makes in a namespace, apart from Jobs. */
const KINDS: readonly Pick<Named, 'apiVersion' | 'kind'>[] = [
  { apiVersion: 'apps/v1', kind: 'Deployment' },
  { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget' },
  { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' },
  { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress' },
  { apiVersion: 'monitoring.coreos.com/v1', kind: 'PodMonitor' },
  { apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule' },
  ...['Service', 'ConfigMap', 'ServiceAccount'].map((kind) => ({ apiVersion: 'v1', kind })),
];

/**
 * Installs the chart with the first values of `ci`, upgrades it to each of the others, rolls back and uninstalls. An upgrade
 * alters objects that keep their names, and the API server refuses to alter some of their fields.
 */
export async function checkRelease(api: Api, helm: Helm, namespace: string, expect: Expect): Promise<void> {
  const succeed = async (what: string, ...args: readonly string[]): Promise<void> => {
    const { code, stderr } = await helm(...args, WITHOUT_JOBS);
    const isGood = code === 0 && !/warning/i.test(stderr);
    expect(isGood, `helm ${what} succeeds without a warning`, stderr);
  };
  const before = await objectsOf(api, namespace);
  const [first = '', ...others] = await yamlFiles('ci');
  await succeed(`install with ${first}`, 'install', RELEASE, CHART, '--values', join(CHART, first));
  const installed = await objectsOf(api, namespace);
  expect(installed.length > before.length, `the API server has the objects of ${first}`);
  for (const values of others)
    await succeed(`upgrade to ${values}`, 'upgrade', RELEASE, CHART, '--values', join(CHART, values));
  await succeed(`rollback to ${first}`, 'rollback', RELEASE, '1');
  const back = await objectsOf(api, namespace);
  expect(back.join() === installed.join(), 'the API server has the first objects again', back.join(', '));
  await succeed('uninstall', 'uninstall', RELEASE);
  const left = await objectsOf(api, namespace);
  expect(left.join() === before.join(), 'nothing is left over', left.join(', '));
}

/** `kind name` of all that the namespace holds. */
async function objectsOf(api: Api, namespace: string): Promise<readonly string[]> {
  const names = KINDS.map(async (kind) => {
    const { items } = await api.must<List>('GET', pathOf(kind, namespace));
    return items.map(({ metadata }) => `${kind.kind} ${metadata.name}`);
  });
  return (await Promise.all(names)).flat().toSorted();
}
