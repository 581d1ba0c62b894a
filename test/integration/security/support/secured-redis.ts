import { freePort } from '../../../../stack/free-port.ts';
import { startOwnRedis } from '../../../faults/support/own-redis.ts';
import type { Certificates } from './certificates.ts';

const NEEDS_TLS = true;

/**
 * A Redis with a port for TLS that wants certificates of clients, in which `rollcall` has the rights that the documents name.
 *
 * @param rights as `ACL SETUSER` takes them
 */
export async function startSecuredRedis(
  { ca, server }: Certificates,
  rights: readonly string[],
  password: string,
) {
  const redis = await startOwnRedis(NEEDS_TLS);
  const { admin } = redis;
  const port = await freePort();
  for (const [setting, value] of [
    ['tls-ca-cert-file', ca],
    ['tls-cert-file', server.cert],
    ['tls-key-file', server.key],
    ['tls-auth-clients', 'yes'],
    ['tls-port', String(port)],
  ] as const)
    await admin.config('SET', setting, value);
  await admin.acl('SETUSER', 'default', 'resetpass');
  const setPassword = async (next: string): Promise<void> => {
    await admin.acl('SETUSER', 'rollcall', 'reset', 'on', `>${next}`, ...rights);
    await admin.call('CLIENT', 'KILL', 'USER', 'rollcall');
  };
  await setPassword(password);
  return {
    /** Without credentials. */
    url: `rediss://127.0.0.1:${port}`,
    /** Replaces the password of `rollcall`, and closes its connections. */
    setPassword,
    [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
  };
}
