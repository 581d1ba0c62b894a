import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import type { ReferenceHub } from '../../reference-hub/start-reference-hub.ts';
import type { Stack } from '../../stack/start-stack.ts';
import { pathOf, type Api } from './api.ts';
import { CHART } from './helm.ts';

/** The CRDs of the kinds that the chart can render. */
const CRDS = ['monitoring.coreos.com_podmonitors.yaml', 'monitoring.coreos.com_prometheusrules.yaml'];
const LOOK_AGAIN_MS = 200;
const WITHIN_MS = 60_000;

/** Notes and prints whether something is as it should be; `why` is printed if it is not. */
export type Expect = (isTrue: boolean, what: string, why?: string) => void;

/** Waits until `isTrue`, and returns whether it was in time. */
export async function until(isTrue: () => Promise<boolean>, withinMs = WITHIN_MS): Promise<boolean> {
  const endMs = Date.now() + withinMs;
  while (!(await isTrue())) {
    if (Date.now() > endMs) return false;
    await sleep(LOOK_AGAIN_MS);
  }
  return true;
}

/** Stores what a platform has before the chart is installed: CRDs, a namespace for restricted Pods, a priority class. */
export async function preparePlatform(api: Api, crdFolder: string, namespace: string): Promise<void> {
  const files = await readdir(crdFolder);
  for (const name of CRDS.filter((each) => files.includes(each)))
    await api.must(
      'POST',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      parse(await readFile(join(crdFolder, name), 'utf8')) as object,
    );
  const levels = ['enforce', 'warn', 'audit'].map((mode) => [
    `pod-security.kubernetes.io/${mode}`,
    'restricted',
  ]);
  await api.must('POST', '/api/v1/namespaces', {
    metadata: { name: namespace, labels: Object.fromEntries(levels) },
  });
  await api.must('POST', '/apis/scheduling.k8s.io/v1/priorityclasses', {
    metadata: { name: 'schools' },
    value: 1000,
  });
  const isServed = async (path: string) => (await api.send('GET', path)).status === 200;
  const paths = [
    `/api/v1/namespaces/${namespace}/serviceaccounts/default`,
    ...['podmonitors', 'prometheusrules'].map((kind) => `/apis/monitoring.coreos.com/v1/${kind}`),
  ];
  for (const path of paths)
    if (!(await until(() => isServed(path)))) throw new Error(`the API server does not serve ${path}`);
}

/** Stores the Secrets and the ConfigMap that `ci/full-values.yaml` names. */
export async function storeSecrets(api: Api, namespace: string, hub: ReferenceHub): Promise<void> {
  const secrets = {
    rollcall: { HUB_ID: hub.clientId },
    'rollcall-files': { hub: hub.clientSecret },
    'rollcall-kafka': { UNUSED: 'it is only named' },
    pseudonyms: { key: 'a key of thirty-two bytes or more' },
  };
  for (const [name, stringData] of Object.entries(secrets))
    await api.must('POST', pathOf({ apiVersion: 'v1', kind: 'Secret' }, namespace), {
      metadata: { name },
      stringData,
    });
  await api.must('POST', pathOf({ apiVersion: 'v1', kind: 'ConfigMap' }, namespace), {
    metadata: { name: 'company-ca' },
    data: { 'ca.pem': '' },
  });
}

/** `ci/full-values.yaml`, which has every option, with a configuration for the services of this machine. */
export async function fullValues(parts: {
  readonly stack: Stack;
  readonly hub: ReferenceHub;
  readonly port: number;
  /** `kafka.session`, which a process takes up at its start. */
  readonly session: string;
}): Promise<object> {
  const { stack, hub, port, session } = parts;
  const { kafkaBrokers: brokers, replicationFactor } = stack;
  const full = parse(await readFile(join(CHART, 'ci', 'full-values.yaml'), 'utf8')) as object;
  const config = {
    tenants: [
      {
        id: 'north',
        hub: {
          baseUrl: hub.baseUrl,
          tokenUrl: hub.tokenUrl,
          clientId: '${HUB_ID}',
          clientSecret: '${file:/etc/rollcall/secrets/hub}',
        },
        collections: { users: { pseudonymise: ['givenName', 'familyName', 'email'] } },
        incrementalEvery: '30s',
      },
    ],
    kafka: { brokers, topicPrefix: 'cluster', replicationFactor, session },
    registry: { url: stack.registryUrl },
    redis: { url: stack.redisUrl, keyPrefix: 'cluster' },
    http: { host: '0.0.0.0', port },
    pseudonymise: { key: '${PSEUDONYM_KEY}' },
  };
  return { ...full, config };
}
