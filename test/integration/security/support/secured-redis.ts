import { startOwnRedis } from '../../../faults/support/own-redis.ts';
import type { Certificates } from './certificates.ts';

/** A Redis with a port for TLS that wants certificates of clients, in which `rollcall` has the rights that the documents name. */
export interface SecuredRedis extends AsyncDisposable {
  /** `rediss://…`, without credentials. */
  readonly url: string;
  /** Replaces the password of `rollcall`, and closes its connections. */
  setPassword(password: string): Promise<void>;
}

/** @param rights as `ACL SETUSER` takes them */
export async function startSecuredRedis(
  certificates: Certificates,
  rights: readonly string[],
  password: string,
): Promise<SecuredRedis> {
  const redis = await startOwnRedis(certificates);
  const { admin } = redis;
  await admin.acl('SETUSER', 'default', 'resetpass');
  const setPassword = async (next: string): Promise<void> => {
    await admin.acl('SETUSER', 'rollcall', 'reset', 'on', `>${next}`, ...rights);
    await admin.call('CLIENT', 'KILL', 'USER', 'rollcall');
  };
  await setPassword(password);
  return {
    url: redis.url,
    setPassword,
    [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
  };
}
