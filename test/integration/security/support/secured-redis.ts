import { startOwnRedis } from '../../../faults/support/own-redis.ts';
import type { Certificates } from './certificates.ts';

/**
 * Starts a Redis with a port for TLS that wants certificates of clients, in which `rollcall` has the rights that the documents
 * name.
 *
 * @param rights as `ACL SETUSER` takes them
 */
export async function startSecuredRedis(
  certificates: Certificates,
  rights: readonly string[],
  password: string,
) {
  const redis = await startOwnRedis(certificates);
  const { admin } = redis;
  await admin.acl('SETUSER', 'default', 'resetpass');
  const setPassword = async (next: string): Promise<void> => {
    await admin.acl('SETUSER', 'rollcall', 'reset', 'on', `>${next}`, ...rights);
    await admin.call('CLIENT', 'KILL', 'USER', 'rollcall');
  };
  await setPassword(password);
  return {
    /** `rediss://…`, without credentials. */
    url: redis.url,
    /** Replaces the password of `rollcall`, and closes its connections. */
    setPassword,
    [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
  };
}
