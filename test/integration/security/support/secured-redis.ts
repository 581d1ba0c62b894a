import { freePort } from '../../../../stack/free-port.ts';
import { startOwnRedis } from '../../../faults/support/own-redis.ts';
import type { Certificates } from './certificates.ts';

/** A Redis with a port for TLS, in which `rollcall` has the rights that the documents name. */
export interface SecuredRedis extends AsyncDisposable {
  /** `rediss://…`, without credentials. */
  readonly url: string;
  /** Replaces the password of `rollcall`, and closes its connections. */
  setPassword(password: string): Promise<void>;
}

const NEEDS_TLS = true;

/** @param rights as `ACL SETUSER` takes them */
export async function startSecuredRedis(
  { ca, server }: Certificates,
  rights: readonly string[],
  password: string,
): Promise<SecuredRedis> {
  const redis = await startOwnRedis(NEEDS_TLS);
  const { admin } = redis;
  const port = await freePort();
  for (const [setting, value] of [
    ['tls-ca-cert-file', ca],
    ['tls-cert-file', server.cert],
    ['tls-key-file', server.key],
    ['tls-auth-clients', 'no'],
    ['tls-port', String(port)],
  ] as const)
    await admin.config('SET', setting, value);
  await admin.acl('SETUSER', 'default', 'resetpass');
  const setPassword = async (next: string): Promise<void> => {
    await admin.acl('SETUSER', 'rollcall', 'reset', 'on', `>${next}`, ...rights);
    await admin.call('CLIENT', 'KILL', 'USER', 'rollcall');
  };
  await setPassword(password);
  const url = `rediss://127.0.0.1:${port}`;
  return { url, setPassword, [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose]() };
}
