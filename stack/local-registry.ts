import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { startArchive } from './java-archive.ts';
import type { LocalJavaOptions } from './local-kafka.ts';
import { startLocalService, type LocalService } from './local-service.ts';
import { isRegistryReady } from './readiness.ts';

/** Path of Confluent's API in Apicurio. */
export const confluentPath = '/apis/ccompat/v7';

/** Starts the registry on a free port of 127.0.0.1. It keeps its schemas in memory and loses them at a restart. */
export async function startLocalRegistry({
  java,
  part,
  folder,
  signal,
}: LocalJavaOptions): Promise<{ service: LocalService; url: string }> {
  const [port, managementPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}${confluentPath}`;
  await mkdir(folder, { recursive: true });
  // Apicurio 2: apicurio-registry-app-<version>-runner.jar
  const runner =
    (await readdir(part)).find((name) => /(-runner|^quarkus-run)\.jar$/.test(name)) ?? 'runner.jar';
  const archive = startArchive({ java, folder: part, name: 'registry', mayRecord: true });
  const properties = [
    `-Dquarkus.http.port=${port}`,
    '-Dquarkus.http.host=127.0.0.1',
    // Apicurio 3 has one; by default several at once would use the same
    `-Dquarkus.management.port=${managementPort}`,
    '-Dquarkus.management.host=127.0.0.1',
    '-Dquarkus.log.level=WARN',
    '-Dquarkus.banner.enabled=false',
  ];
  const service = await startLocalService(
    {
      name: 'the schema registry',
      command: java.path,
      args: ['-Xmx256m', ...archive.flags, ...properties, '-jar', join(part, runner)],
      folder,
      isReady: (abort) => isRegistryReady(url, abort),
      readyTimeoutMs: 120_000,
      stopTimeoutMs: archive.isRecording ? 30_000 : 10_000,
      afterStop: archive.keep,
    },
    signal,
  );
  return { service, url };
}
