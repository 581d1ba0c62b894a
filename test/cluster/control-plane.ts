import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../stack/free-port.ts';
import { startLocalService, type LocalService } from '../../stack/local-service.ts';
import { createApi, type Api } from './api.ts';

/** Paths of the programs. */
export interface Programs {
  readonly etcd: string;
  readonly apiServer: string;
}

export interface ControlPlane extends AsyncDisposable {
  readonly api: Api;
  /** For helm: the administrator's. */
  readonly kubeconfig: string;
}

interface Part {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly isReady: (signal: AbortSignal) => Promise<boolean>;
}

const READY_WITHIN_MS = 120_000;
const STOP_WITHIN_MS = 15_000;

/** Starts etcd and kube-apiserver. Throws `StackError`. */
export async function startControlPlane(programs: Programs, folder: string): Promise<ControlPlane> {
  await using started = new AsyncDisposableStack();
  const start = async (part: Part): Promise<void> => {
    const service = await startPart(part, join(folder, part.name));
    started.defer(() => service.stop());
  };
  const etcd = `http://127.0.0.1:${await freePort()}`;
  await start(await etcdPart(programs.etcd, etcd, join(folder, 'etcd-data')));
  const access = await prepareAccess(join(folder, 'access'));
  const api = started.use(createApi(access.url, access.token));
  await start(apiServerPart(programs.apiServer, etcd, access, api));
  const kubeconfig = join(access.folder, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigOf(access));
  const rest = started.move();
  return { api, kubeconfig, [Symbol.asyncDispose]: () => rest.disposeAsync() };
}

async function startPart(part: Part, folder: string): Promise<LocalService> {
  await mkdir(folder, { recursive: true });
  const times = { readyTimeoutMs: READY_WITHIN_MS, stopTimeoutMs: STOP_WITHIN_MS };
  return startLocalService({ ...part, ...times, folder }, new AbortController().signal);
}

async function etcdPart(command: string, url: string, data: string): Promise<Part> {
  const peers = `http://127.0.0.1:${await freePort()}`;
  const args = [
    `--data-dir=${data}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peers}`,
    `--initial-advertise-peer-urls=${peers}`,
    `--initial-cluster=default=${peers}`,
    '--unsafe-no-fsync',
  ];
  const isReady = async (signal: AbortSignal) => (await fetch(`${url}/health`, { signal })).ok;
  return { name: 'etcd', command, args, isReady };
}

interface Access {
  readonly url: string;
  readonly folder: string;
  readonly token: string;
  readonly tokens: string;
  /** It signs the tokens of service accounts, without which the API server does not start. */
  readonly key: string;
}

async function prepareAccess(folder: string): Promise<Access> {
  await mkdir(folder, { recursive: true });
  const token = randomBytes(16).toString('hex');
  const tokens = join(folder, 'tokens.csv');
  await writeFile(tokens, `${token},admin,admin,"system:masters"\n`, { mode: 0o600 });
  const key = join(folder, 'service-accounts.pem');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  return { url: `https://127.0.0.1:${await freePort()}`, folder, token, tokens, key };
}

function apiServerPart(command: string, etcd: string, access: Access, api: Api): Part {
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
  const isReady = async () => (await api.send('GET', '/readyz')).status === 200;
  return { name: 'kube-apiserver', command, args, isReady };
}

function kubeconfigOf({ url, token }: Access): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'check', cluster: { server: url, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'check', context: { cluster: 'check', user: 'admin' } }],
    'current-context': 'check',
  });
}
