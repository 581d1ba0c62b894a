import { isUntrusted, RollcallError, systemCode } from '../errors.ts';

/** Rights that the Redis user needs. */
const RIGHTS =
  '~{<keyPrefix>:* +hget +hmget +hset +hdel +hlen +hscan +get +set +del +unlink +pexpire +rpush +lpop +lrem ' +
  '+multi +exec +eval +evalsha +select +info +cluster|slots +asking';

const CREDENTIALS = 'Check redis.username and redis.password.';

/** What a person has to change, and how, by Redis' error code: the first word of an error reply. */
const REFUSALS: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  OOM: [
    'is full and refuses writes',
    'Raise maxmemory (about 100 bytes for each row, and 240 bytes for each version of an absence), or free memory there.',
  ],
  NOAUTH: ['requires a password, and none is configured', CREDENTIALS],
  WRONGPASS: ['refuses the user name or password', CREDENTIALS],
  NOPERM: ['does not permit a command that Rollcall needs', `Grant the Redis user: ${RIGHTS}`],
  DENIED: [
    'runs in protected mode and accepts local connections only',
    'Give Redis a password, or bind it to the address that Rollcall uses.',
  ],
  MISCONF: [
    'refuses writes because it cannot save its data',
    'Check the log of Redis for a full or read-only disk.',
  ],
  MOVED: ['is a node of a Redis Cluster and has only part of the keys', 'Set redis.cluster to true.'],
  WRONGTYPE: [
    "has another program's data under Rollcall's keys",
    'Set redis.keyPrefix to a prefix that only Rollcall uses.',
  ],
  // Rollcall's own names for errors to which Redis gives only the code `ERR`.
  NOCLUSTER: ['is not a Redis Cluster', 'Leave redis.cluster out.'],
  MAXCLIENTS: ['accepts no more clients', 'Raise maxclients of Redis, or close other connections to it.'],
};

/** What is wrong with the Sentinels, by a part of the client's message. (The message itself is not shown.) */
const SENTINEL_REFUSALS: readonly (readonly [part: RegExp, what: string, remedy: string])[] = [
  [
    /invalid reply: null$/,
    'the Sentinels know no primary of that name',
    'Set redis.sentinel.master to a name that the command SENTINEL MASTERS lists.',
  ],
  [
    /because ERR unknown command/,
    'a server that redis.url names is not a Sentinel',
    'Set redis.url to the Sentinels (usually port 26379), or leave redis.sentinel out.',
  ],
  [
    /because (NOAUTH|WRONGPASS|NOPERM)/,
    'the Sentinels refuse the user name or password, or lack a right',
    'Check redis.sentinel.username and redis.sentinel.password; the right is +sentinel|get-master-addr-by-name.',
  ],
];

/** Errors that pass without help from a person. */
const TROUBLES: Readonly<Record<string, string>> = {
  READONLY: 'is a read-only replica, as during a failover',
  LOADING: 'is still loading its data',
  BUSY: 'is busy with a script',
  MASTERDOWN: 'has lost its primary',
  CLUSTERDOWN: 'reports that its cluster is down',
  TRYAGAIN: 'is moving keys',
  NOREPLICAS: 'has too few replicas to accept writes',
};

/**
 * Returns the code of an error reply, such as `OOM`; null when the error is not a reply of Redis.
 * Before Redis 7 a script's error is `ERR Error running script …: @user_script:12: OOM …`.
 */
export function replyCode(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  // The client reports this error after it has followed the redirections of a Cluster for a second or two.
  const redirected = /^Too many Cluster redirections\. Last error: \w+: ([A-Z]+)/.exec(error.message)?.[1];
  if (redirected !== undefined) return redirected === 'MOVED' ? 'TRYAGAIN' : redirected;
  if (error.name !== 'ReplyError') return null;
  // Redis refuses a transaction when it refuses one of its commands, for example for lack of memory.
  const { previousErrors } = error as { readonly previousErrors?: readonly unknown[] };
  if (previousErrors !== undefined && previousErrors.length > 0) return replyCode(previousErrors[0]);
  const inScript = /@user_script: ?\d+: -?([A-Z]{2,})\b/.exec(error.message)?.[1];
  if (inScript !== undefined) return inScript;
  const code = /^-?([A-Z]+)\b/.exec(error.message)?.[1] ?? 'ERR';
  if (code !== 'ERR') return code;
  if (error.message.includes('max number of clients')) return 'MAXCLIENTS';
  if (error.message.includes('cluster support disabled')) return 'NOCLUSTER';
  // The first text comes from Redis up to 7.0, the second one from later versions and from Valkey.
  if (/user executing the script can't|ACL failure in script/.test(error.message)) return 'NOPERM';
  // Before Redis 6, or with HELLO refused, a wrong password has no code of its own.
  return /invalid password|AUTH/i.test(error.message) ? 'WRONGPASS' : code;
}

/**
 * Explains an error of the Redis client.
 * The client's error is not the cause, since it contains the command's arguments, which are keys of rows.
 */
export function explainRedisError(error: unknown, address: string): RollcallError {
  if (error instanceof RollcallError) return error;
  if (isOfSentinel(error)) return explainSentinelError(error, address);
  const code = replyCode(error);
  if (code !== null) {
    const trouble = TROUBLES[code];
    if (trouble !== undefined) {
      return new RollcallError('INDEX_UNREACHABLE', `Redis at ${address} ${trouble}`, {
        remedy:
          'Rollcall retries. If this continues, check the state of Redis. If it is a replica, set redis.url to the primary.',
      });
    }
    // A reply may begin with any text, so none is quoted.
    const [what, remedy] = REFUSALS[code] ?? [
      'refuses a command with an error that Rollcall does not know',
      'Rollcall needs Redis 6.2 or later, or a compatible server; see the log of Redis.',
    ];
    return new RollcallError('INDEX_REFUSED', `Redis at ${address} ${what}`, { remedy });
  }
  const trouble = troubleOf(error);
  if (trouble === 'ECONNREFUSED') {
    const what = `Redis at ${address} does not answer: nothing listens there (${trouble})`;
    const remedy = 'Start Redis there, or correct the host and port in redis.url.';
    return new RollcallError('INDEX_UNREACHABLE', what, { remedy });
  }
  return new RollcallError('INDEX_UNREACHABLE', `Redis at ${address} does not answer: ${trouble}`, {
    remedy: isUntrusted(trouble)
      ? 'Use host names that are in the certificate of Redis, or set redis.ssl.serverName; set redis.ssl.ca to the authority that issued the certificate.'
      : 'Check redis.url (rediss:// if Redis uses TLS) and redis.ssl. Check that Redis runs and is reachable from here, and that DNS knows its host name.',
  });
}

function isOfSentinel(error: unknown): error is Error {
  return error instanceof Error && /^(failed to connect|connected) to sentinel /.test(error.message);
}

function explainSentinelError({ message }: Error, address: string): RollcallError {
  const [, what, remedy] = SENTINEL_REFUSALS.find(([part]) => part.test(message)) ?? [];
  return what === undefined || remedy === undefined
    ? new RollcallError('INDEX_UNREACHABLE', `Redis at ${address} cannot be found: no Sentinel answers`, {
        remedy:
          'Check redis.url (rediss:// if Redis and Sentinels use TLS) and redis.ssl. Check that the Sentinels run, and that DNS knows their host names.',
      })
    : new RollcallError('INDEX_REFUSED', `Redis at ${address} cannot be found: ${what}`, { remedy });
}

/** How the client's texts begin, with a wording for people who do not know the client. No decision depends on them. */
const CLIENT_TEXTS: readonly (readonly [start: string, wording: string])[] = [
  ['getaddrinfo ', 'its host name cannot be resolved'],
  ['no connection in time', 'no connection in time'],
  ['Command timed out', 'no reply in time'],
  ['Socket timeout', 'no reply in time'],
  ['Reached the max retries', 'the connection broke'],
  ["Stream isn't writeable", 'the connection is down'],
  // A Cluster's client says only this of a host name that cannot be resolved.
  ['Connection is closed', 'there is no connection'],
  ["Cluster isn't ready", 'no node of the Cluster is known'],
  ['Unknown RESP type', 'the server there is not Redis'],
];

/** Returns a wording of this file, or else a system error's code, and no text of the other side. */
function troubleOf(error: unknown): string {
  const known = CLIENT_TEXTS.find(([start]) => error instanceof Error && error.message.startsWith(start));
  return known?.[1] ?? systemCode(error) ?? 'unknown error';
}
