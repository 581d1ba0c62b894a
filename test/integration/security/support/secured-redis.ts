import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../../../stack/free-port.ts';
import { findInPath } from '../../../../stack/java-tools.ts';
import { fetchParts } from '../../../../stack/local-parts.ts';
import { startLocalService } from '../../../../stack/local-service.ts';
import type { Certificates } from './certificates.ts';

/** A Redis that speaks TLS only. Its default user has a password; `rollcall` has the rights that the documents name. */
export interface SecuredRedis {
  /** `rediss://…`, without credentials. */
  readonly url: string;
  /** Replaces the password of `rollcall`, and closes its connections. */
  setPassword(password: string): Promise<void>;
  stop(): Promise<void>;
}

const ADMIN_PASSWORD = 'of-the-administrator';

export async function startSecuredRedis(options: {
  readonly folder: string;
  readonly certificates: Certificates;
  /** As `ACL SETUSER` takes them. */
  readonly rights: readonly string[];
  readonly password: string;
}): Promise<SecuredRedis> {
  const { folder, certificates, rights } = options;
  await mkdir(folder, { recursive: true });
  const inPath = findInPath('redis-server');
  const command =
    inPath ?? join((await fetchParts(['redis'], { print: () => undefined })).redis, 'redis-server');
  const port = await freePort();
  const settings = {
    bind: '127.0.0.1',
    port: '0',
    'tls-port': String(port),
    'tls-ca-cert-file': certificates.ca,
    'tls-cert-file': certificates.server.cert,
    'tls-key-file': certificates.server.key,
    'tls-auth-clients': 'no',
    requirepass: ADMIN_PASSWORD,
    save: '',
    'maxmemory-policy': 'noeviction',
  };
  const url = `rediss://127.0.0.1:${port}`;
  const admin = new Redis(url, {
    password: ADMIN_PASSWORD,
    tls: { ca: await readFile(certificates.ca) },
    lazyConnect: true,
    maxRetriesPerRequest: 0,
  });
  admin.on('error', () => undefined);
  const service = await startLocalService(
    {
      name: 'a secured Redis',
      command,
      args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
      folder,
      isReady: () =>
        admin.ping().then(
          () => true,
          () => false,
        ),
      readyTimeoutMs: 30_000,
      stopTimeoutMs: 1_000,
    },
    new AbortController().signal,
  );
  const setPassword = async (password: string): Promise<void> => {
    await admin.acl('SETUSER', 'rollcall', 'reset', 'on', `>${password}`, ...rights);
    await admin.call('CLIENT', 'KILL', 'USER', 'rollcall');
  };
  await setPassword(options.password);
  return {
    url,
    setPassword,
    async stop() {
      admin.disconnect();
      await service.stop();
    },
  };
}
