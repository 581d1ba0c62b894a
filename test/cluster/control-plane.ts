import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../stack/free-port.ts';
import { startLocalService, type LocalService } from '../../stack/local-service.ts';
import { createApi, type Api } from './api.ts';

/** Paths of the programs. */
export interface Programs {
  readonly etcd: string;
  readonly apiServer: string;
  readonly controllerManager: string;
  readonly scheduler: string;
}

export interface ControlPlane extends AsyncDisposable {
  readonly api: Api;
  /** For helm: the administrator's. */
  readonly kubeconfig: string;
  /** The API server's own, for what talks to it in the place of a kubelet. */
  readonly certificate: { readonly key: string; readonly cert: string };
}

const READY_WITHIN_MS = 120_000;
const STOP_WITHIN_MS = 15_000;
/** Without those that need a cloud, a kubelet or certificates. */
const CONTROLLERS = [
  'deployment-controller',
  'replicaset-controller',
  'job-controller',
  'ttl-after-finished-controller',
  'endpointslice-controller',
  'serviceaccount-controller',
  'root-ca-certificate-publisher-controller',
  'garbage-collector-controller',
  'namespace-controller',
];

/** Starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler. Throws `StackError`. */
export async function startControlPlane(programs: Programs, folder: string): Promise<ControlPlane> {
  const started: LocalService[] = [];
  const stop = async () => {
    for (const service of started.toReversed()) await service.stop();
  };
  const start = async (part: Part) => started.push(await startPart(part, folder));
  try {
    const etcd = await etcdPart(programs.etcd, join(folder, 'etcd'));
    await start(etcd);
    const access = await prepareAccess(folder);
    await start(apiServerPart(programs.apiServer, etcd.url, access));
    const api = createApi(access.url, access.token, await readFile(access.caFile, 'utf8'));
    await writeFile(access.kubeconfig, kubeconfigOf(access));
    await start(await controllersPart(programs.controllerManager, access));
    await start(await schedulerPart(programs.scheduler, access));
    const dispose = async () => {
      await api[Symbol.asyncDispose]();
      await stop();
    };
    const cert = await readFile(access.caFile, 'utf8');
    const key = await readFile(join(access.folder, 'apiserver.key'), 'utf8');
    return { api, kubeconfig: access.kubeconfig, certificate: { key, cert }, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Part {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly isReady: (signal: AbortSignal) => Promise<boolean>;
}

async function startPart(part: Part, parent: string): Promise<LocalService> {
  const folder = join(parent, part.name);
  await mkdir(folder, { recursive: true });
  const times = { readyTimeoutMs: READY_WITHIN_MS, stopTimeoutMs: STOP_WITHIN_MS };
  return startLocalService({ ...part, ...times, folder }, new AbortController().signal);
}

async function etcdPart(command: string, data: string): Promise<Part & { readonly url: string }> {
  const url = `http://127.0.0.1:${await freePort()}`;
  const peers = `http://127.0.0.1:${await freePort()}`;
  const args = [
    `--data-dir=${join(data, 'data')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peers}`,
    `--initial-advertise-peer-urls=${peers}`,
    `--initial-cluster=default=${peers}`,
    '--unsafe-no-fsync',
  ];
  const isReady = async (signal: AbortSignal) => (await fetch(`${url}/health`, { signal })).ok;
  return { name: 'etcd', command, args, isReady, url };
}

interface Access {
  readonly url: string;
  readonly folder: string;
  readonly token: string;
  readonly tokens: string;
  /** The API server writes it at its first start. */
  readonly caFile: string;
  readonly key: string;
  readonly kubeconfig: string;
}

async function prepareAccess(parent: string): Promise<Access> {
  const folder = join(parent, 'access');
  await mkdir(folder, { recursive: true });
  const token = randomBytes(16).toString('hex');
  const tokens = join(folder, 'tokens.csv');
  await writeFile(tokens, `${token},admin,admin,"system:masters"\n`, { mode: 0o600 });
  const key = join(folder, 'service-accounts.pem');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const url = `https://127.0.0.1:${await freePort()}`;
  const caFile = join(folder, 'apiserver.crt');
  return { url, folder, token, tokens, caFile, key, kubeconfig: join(folder, 'kubeconfig') };
}

function apiServerPart(command: string, etcd: string, access: Access): Part {
  const args = [
    `--etcd-servers=${etcd}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    '--endpoint-reconciler-type=none',
    `--secure-port=${new URL(access.url).port}`,
    `--cert-dir=${access.folder}`,
    `--token-auth-file=${access.tokens}`,
    '--authorization-mode=RBAC',
    '--service-cluster-ip-range=10.0.0.0/24',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${access.key}`,
    `--service-account-signing-key-file=${access.key}`,
  ];
  const isReady = async () => {
    await using api = createApi(access.url, access.token, await readFile(access.caFile, 'utf8'));
    return (await api.send('GET', '/readyz')).status === 200;
  };
  return { name: 'kube-apiserver', command, args, isReady };
}

function kubeconfigOf({ url, token, caFile }: Access): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'check', cluster: { server: url, 'certificate-authority': caFile } }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'check', context: { cluster: 'check', user: 'admin' } }],
    'current-context': 'check',
  });
}

async function controllersPart(command: string, access: Access): Promise<Part> {
  const args = [
    `--controllers=${CONTROLLERS.join(',')}`,
    `--service-account-private-key-file=${access.key}`,
    `--root-ca-file=${access.caFile}`,
  ];
  return withHealth('kube-controller-manager', command, access, args);
}

const schedulerPart = (command: string, access: Access): Promise<Part> =>
  withHealth('kube-scheduler', command, access, []);

/** Both have a port of their own for health, with a certificate that nobody signed, so its content is not asked for. */
async function withHealth(
  name: string,
  command: string,
  access: Access,
  more: readonly string[],
): Promise<Part> {
  const port = await freePort();
  const args = [
    `--kubeconfig=${access.kubeconfig}`,
    '--leader-elect=false',
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${join(access.folder, name)}`,
    ...more,
  ];
  const isReady = async () => {
    await using api = createApi(`https://127.0.0.1:${port}`, '', undefined);
    return (await api.send('GET', '/healthz')).status === 200;
  };
  return { name, command, args, isReady };
}
