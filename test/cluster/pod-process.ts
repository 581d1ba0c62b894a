import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../stack/free-port.ts';
import { startSupervised, type SupervisedProcess } from '../../stack/supervised-process.ts';
import { pathOf, type Api } from './api.ts';
import type { Container, Pod, Volume } from './pod.ts';

/** The image's entry point, in this checkout. */
const PROGRAM = fileURLToPath(new URL('../../bin/rollcall.mjs', import.meta.url));

export interface PodProcess {
  readonly process: SupervisedProcess;
  /** In place of the container's, since all Pods of the played node share its address. */
  readonly port: number;
  log(): Promise<string>;
}

interface Mounted {
  readonly given: string;
  readonly own: string;
}

/**
 * Starts a Pod's only container as a process of this machine, with the environment and the files that the Pod names, and no
 * others. The files lie in `folder`; every mount path in the environment and in the files is replaced by where it lies, and the port
 * by a free one.
 */
export async function startPodProcess(api: Api, pod: Pod, folder: string): Promise<PodProcess> {
  const [container] = pod.spec.containers;
  if (container === undefined) throw new Error(`the Pod ${pod.metadata.name} has no container`);
  const port = await freePort();
  const mounted = [
    ...(container.volumeMounts ?? []).map(({ name, mountPath }) => ({
      given: mountPath,
      own: join(folder, 'volumes', name),
    })),
    ...(container.ports ?? []).map(({ containerPort }) => ({ given: `${containerPort}`, own: `${port}` })),
  ];
  const namespace = pod.metadata.namespace ?? '';
  for (const volume of pod.spec.volumes ?? []) await writeVolume(api, namespace, volume, folder, mounted);
  const env = await environmentOf(api, pod, container);
  const given = env.map(([name, value]) => `${name}=${relocated(value, mounted)}`);
  const logFile = join(folder, 'output.log');
  // A container has the image's environment and the Pod's, and nothing of the node's.
  const args = ['-i', `PATH=${process.env['PATH']}`, ...given, process.execPath, PROGRAM, ...container.args];
  const running = await startSupervised({ command: '/usr/bin/env', args, logFile, cwd: folder });
  return { process: running, port, log: () => readFile(logFile, 'utf8') };
}

const relocated = (text: string, mounted: readonly Mounted[]): string =>
  mounted.reduce((result, { given, own }) => result.replaceAll(given, own), text);

async function writeVolume(
  api: Api,
  namespace: string,
  { name, configMap, secret }: Volume,
  folder: string,
  mounted: readonly Mounted[],
): Promise<void> {
  const target = join(folder, 'volumes', name);
  await mkdir(target, { recursive: true });
  const files =
    configMap === undefined
      ? await secretOf(api, namespace, secret?.secretName ?? '')
      : await configMapOf(api, namespace, configMap.name);
  for (const [file, text] of Object.entries(files))
    await writeFile(join(target, file), relocated(text, mounted));
}

async function environmentOf(api: Api, pod: Pod, container: Container): Promise<[string, string][]> {
  const { namespace = '', labels = {} } = pod.metadata;
  const sources = (container.envFrom ?? []).flatMap(({ secretRef }) => secretRef?.name ?? []);
  const fromSecrets = await Promise.all(sources.map((name) => secretOf(api, namespace, name)));
  const own = (container.env ?? []).map(async ({ name, value, valueFrom }): Promise<[string, string]> => {
    const [, label] = /^metadata\.labels\['(.+)'\]$/.exec(valueFrom?.fieldRef?.fieldPath ?? '') ?? [];
    if (label !== undefined) return [name, labels[label] ?? ''];
    const ref = valueFrom?.secretKeyRef;
    if (ref === undefined) return [name, value ?? ''];
    const found = (await secretOf(api, namespace, ref.name))[ref.key];
    if (found === undefined) throw new Error(`the Secret ${ref.name} has no key ${ref.key}`);
    return [name, found];
  });
  return [...fromSecrets.flatMap((secret) => Object.entries(secret)), ...(await Promise.all(own))];
}

async function configMapOf(api: Api, namespace: string, name: string): Promise<Record<string, string>> {
  const path = pathOf({ apiVersion: 'v1', kind: 'ConfigMap' }, namespace, name);
  return (await api.must<{ data: Record<string, string> }>('GET', path)).data;
}

async function secretOf(api: Api, namespace: string, name: string): Promise<Record<string, string>> {
  const path = pathOf({ apiVersion: 'v1', kind: 'Secret' }, namespace, name);
  const { data } = await api.must<{ data: Record<string, string> }>('GET', path);
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
  );
}
