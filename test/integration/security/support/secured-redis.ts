import { freePort } from '../../../../stack/free-port.ts';
import { runCommand } from '../../../../stack/run-command.ts';
import { startOwnRedis } from '../../../faults/support/own-redis.ts';
import type { Certificates } from './certificates.ts';
import { inFile } from './secured-parts.ts';

/** A Redis with a port for TLS that wants certificates of clients, in which `rollcall` has the rights that the documents name. */
export interface SecuredRedis extends AsyncDisposable {
  /** `rediss://…`, without credentials. */
  readonly url: string;
  /** The certificate of a client with its encrypted key, as `redis.ssl` names them. */
  readonly client: { readonly cert: string; readonly key: string; readonly passphrase: string };
  /** Replaces the password of `rollcall`, and closes its connections. */
  setPassword(password: string): Promise<void>;
}

const NEEDS_TLS = true;

/** @param rights as `ACL SETUSER` takes them */
export async function startSecuredRedis(
  { ca, server, client }: Certificates,
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
  const passphrase = 'S3CRET-phrase';
  const key = `${client.key}.encrypted`;
  const encrypt = ['pkcs8', '-topk8', '-in', client.key, '-out', key, '-passout', `pass:${passphrase}`];
  const { code, output } = await runCommand('openssl', encrypt);
  if (code !== 0) throw new Error(`the key could not be encrypted: ${output}`);
  return {
    url: `rediss://127.0.0.1:${port}`,
    client: { cert: inFile(client.cert), key: inFile(key), passphrase },
    setPassword,
    [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
  };
}
