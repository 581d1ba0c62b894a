import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { groundInUse } from './grounds.ts';
import { findInPath } from './java-tools.ts';
import { startLocalService, type LocalService } from './local-service.ts';
import { isRedisReady } from './readiness.ts';
import { runCommand } from './run-command.ts';

export interface LocalRedisOptions {
  /** The redis-server binary. */
  server: string;
  /** A separate folder for logs and data; it is created. */
  folder: string;
  /** Whether a client may use DEBUG, and change settings that Redis 7 and later protect. */
  allowsTrouble?: boolean | undefined;
  /** Further settings, or others than the usual ones. */
  settings?: Readonly<Record<string, string>> | undefined;
  signal: AbortSignal;
}

/** The redis-server of the PATH, unless the ground in use has a version of its own. */
export function redisInPath(): string | undefined {
  return groundInUse()?.parts?.redis === undefined ? findInPath('redis-server') : undefined;
}

const UNPROTECTED = { 'enable-debug-command': 'local', 'enable-protected-configs': 'local' };

async function majorVersion(server: string): Promise<number> {
  const { output } = await runCommand(server, ['--version']);
  return Number(/ v=(\d+)\./.exec(output)?.[1] ?? 0);
}

/**
 * Starts Redis on a free port of 127.0.0.1, with an append-only file, so that its data survives SIGKILL.
 *
 * @returns `data`: the folder with its data and nothing else; the files depend on the version of Redis.
 */
export async function startLocalRedis({
  server,
  folder,
  allowsTrouble = false,
  settings: further = {},
  signal,
}: LocalRedisOptions): Promise<{ service: LocalService; url: string; data: string }> {
  const port = Number(further['port'] ?? (await freePort()));
  const data = join(folder, 'data');
  await mkdir(data, { recursive: true });
  const settings = {
    bind: '127.0.0.1',
    port: String(port),
    dir: data,
    save: '',
    appendonly: 'yes',
    'maxmemory-policy': 'noeviction',
    ...(allowsTrouble && (await majorVersion(server)) >= 7 ? UNPROTECTED : {}),
    ...further,
  };
  const url = `redis://127.0.0.1:${port}`;
  const service = await startLocalService(
    {
      name: 'Redis',
      command: server,
      args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
      folder,
      isReady: () => isRedisReady(url),
      readyTimeoutMs: 30_000,
      stopTimeoutMs: 10_000,
    },
    signal,
  );
  return { service, url, data };
}
