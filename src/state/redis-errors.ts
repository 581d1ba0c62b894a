import { isUntrusted, RollcallError, systemCode } from '../errors.ts';

/** Rights that the Redis user needs. */
const RIGHTS =
  '+@read +@write +eval +evalsha +@transaction +@connection -@dangerous +info ~{<keyPrefix>:* ~{<keyPrefix>}:probe:*';

const CREDENTIALS = 'Check redis.username and redis.password, or those in redis.url.';

/** What a person has to change, and how, by Redis' error code: the first word of an error reply. */
const REFUSALS: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  OOM: [
    'is full and refuses writes',
    'Raise maxmemory (about 140 bytes for each row of each collection), or free memory there.',
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
  MOVED: [
    'is a node of a Redis Cluster and has only part of the keys',
    'Set redis.url to a Redis that is not a cluster, or to a proxy in front of the cluster.',
  ],
  WRONGTYPE: [
    "has another program's data under Rollcall's keys",
    'Set redis.keyPrefix to a prefix that only Rollcall uses.',
  ],
  // A name of Rollcall's own: Redis says it as `ERR`.
  MAXCLIENTS: ['accepts no more clients', 'Raise maxclients of Redis, or close other connections to it.'],
};

/** What passes without a person. */
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
  if (!(error instanceof Error) || error.name !== 'ReplyError') return null;
  // Redis refuses a transaction when it refuses one of its commands, for example for lack of memory.
  const { previousErrors } = error as { readonly previousErrors?: readonly unknown[] };
  if (previousErrors !== undefined && previousErrors.length > 0) return replyCode(previousErrors[0]);
  const inScript = /@user_script: ?\d+: -?([A-Z]{2,})\b/.exec(error.message)?.[1];
  if (inScript !== undefined) return inScript;
  const code = /^-?([A-Z]+)\b/.exec(error.message)?.[1] ?? 'ERR';
  if (code !== 'ERR') return code;
  if (error.message.includes('max number of clients')) return 'MAXCLIENTS';
  // The first is of Redis up to 7.0, the second of later ones and of Valkey.
  if (/user executing the script can't|ACL failure in script/.test(error.message)) return 'NOPERM';
  // Before Redis 6, or with HELLO refused, a wrong password has no code of its own.
  return /invalid password|AUTH/i.test(error.message) ? 'WRONGPASS' : code;
}

/**
 * Explains an error of the Redis client. `address` is host and port, without credentials.
 * The client's error is not the cause, since it contains the command's arguments, which are keys of rows.
 */
export function explainRedisError(error: unknown, address: string): RollcallError {
  if (error instanceof RollcallError) return error;
  const code = replyCode(error);
  if (code !== null) {
    const trouble = TROUBLES[code];
    if (trouble !== undefined) {
      return new RollcallError('INDEX_UNREACHABLE', `Redis at ${address} ${trouble}`, {
        remedy:
          'Rollcall retries. If this continues, check the state of Redis, and set redis.url to the primary.',
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
  return new RollcallError('INDEX_UNREACHABLE', `Redis at ${address} does not answer: ${trouble}`, {
    remedy: isUntrusted(trouble)
      ? 'Use a host name that is in the certificate of Redis; trust its authority with NODE_EXTRA_CA_CERTS=<file>.'
      : 'Check that Redis runs and is reachable from here, and check redis.url (rediss:// if Redis uses TLS).',
  });
}

/** How the client's texts begin, with a wording for people who do not know the client. No decision depends on them. */
const CLIENT_TEXTS: readonly (readonly [start: string, wording: string])[] = [
  ['no connection in time', 'no connection in time'],
  ['Command timed out', 'no reply in time'],
  ['Socket timeout', 'no reply in time'],
  ['Reached the max retries', 'the connection broke'],
  ["Stream isn't writeable", 'the connection is down'],
  ['Unknown RESP type', 'the server there is not Redis'],
];

/** Returns a system error's code if there is one, and no text of the other side. */
function troubleOf(error: unknown): string {
  const known = CLIENT_TEXTS.find(([start]) => error instanceof Error && error.message.startsWith(start));
  return systemCode(error) ?? known?.[1] ?? 'unknown error';
}
