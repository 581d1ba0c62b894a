import { RollcallError } from '../errors.ts';

/** Rights that the Redis user needs on Rollcall's keys: what to grant, for remedies and documentation. */
const RIGHTS =
  '+@read +@write +eval +evalsha +@transaction +@connection -@dangerous +info ~{<keyPrefix>:* ~{<keyPrefix>}:probe:*';

type Reply = {
  readonly code: 'INDEX_REFUSED' | 'INDEX_UNREACHABLE';
  readonly what: string;
  readonly remedy: string;
};

const WAIT = 'Nothing, if it passes; otherwise look at the state of Redis.';
const CREDENTIALS = 'Check redis.username and redis.password, or those in redis.url.';

/** What Redis' own error codes (the first word of an error reply) mean for the index. */
const REPLIES: Readonly<Record<string, Reply>> = {
  OOM: {
    code: 'INDEX_REFUSED',
    what: 'is full and refuses writes',
    remedy: 'Raise maxmemory: some 140 bytes for each row of each collection; or free memory there.',
  },
  NOAUTH: { code: 'INDEX_REFUSED', what: 'asks for a password and was given none', remedy: CREDENTIALS },
  WRONGPASS: { code: 'INDEX_REFUSED', what: 'refuses the user name or password', remedy: CREDENTIALS },
  NOPERM: {
    code: 'INDEX_REFUSED',
    what: 'does not permit a command that Rollcall needs',
    remedy: `Grant the Redis user: ${RIGHTS}`,
  },
  DENIED: {
    code: 'INDEX_REFUSED',
    what: 'runs in protected mode and takes local connections only',
    remedy: 'Give Redis a password, or bind it to the address it is reached at.',
  },
  MISCONF: {
    code: 'INDEX_REFUSED',
    what: 'refuses writes because it cannot save its data',
    remedy: 'Look for a full or read-only disk in the log of Redis.',
  },
  MOVED: {
    code: 'INDEX_REFUSED',
    what: 'is a node of a Redis Cluster that holds only part of the keys',
    remedy: 'Name a Redis that is no cluster, or a proxy in front of the cluster, in redis.url.',
  },
  WRONGTYPE: {
    code: 'INDEX_REFUSED',
    what: "holds another program's data under Rollcall's keys",
    remedy: 'Set redis.keyPrefix to a prefix that only Rollcall uses.',
  },
  READONLY: {
    code: 'INDEX_UNREACHABLE',
    what: 'is a read-only replica, as amid a failover',
    remedy: 'Nothing, if a failover is under way; otherwise name the primary in redis.url.',
  },
  LOADING: { code: 'INDEX_UNREACHABLE', what: 'is still loading its data', remedy: WAIT },
  BUSY: { code: 'INDEX_UNREACHABLE', what: 'is busy with a script', remedy: WAIT },
  MASTERDOWN: { code: 'INDEX_UNREACHABLE', what: 'has lost its primary', remedy: WAIT },
  CLUSTERDOWN: { code: 'INDEX_UNREACHABLE', what: 'says that its cluster is down', remedy: WAIT },
  TRYAGAIN: { code: 'INDEX_UNREACHABLE', what: 'is moving keys', remedy: WAIT },
  NOREPLICAS: { code: 'INDEX_UNREACHABLE', what: 'has too few replicas to take writes', remedy: WAIT },
  UNKILLABLE: { code: 'INDEX_UNREACHABLE', what: 'is busy with a script', remedy: WAIT },
};

/** Codes of other replies: what stands first in a reply may be anything, and is shown only if Redis defines it. */
const OTHER_CODES: ReadonlySet<string> = new Set([
  'ERR',
  'ASK',
  'BUSYGROUP',
  'BUSYKEY',
  'CROSSSLOT',
  'EXECABORT',
  'INVALIDOBJ',
  'IOERR',
  'NOGOODSLAVE',
  'NOPROTO',
  'NOSCRIPT',
  'NOTBUSY',
  'SYNTAX',
]);

/**
 * The code of an error reply, such as `OOM`; null when the error is not a reply of Redis.
 * Before Redis 7 a script's error comes as `ERR Error running script …: @user_script:12: OOM …`.
 */
export function replyCode(error: unknown): string | null {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return null;
  // A transaction is refused because one of its commands was, such as for want of memory.
  const { previousErrors } = error as { readonly previousErrors?: readonly unknown[] };
  if (previousErrors !== undefined && previousErrors.length > 0) return replyCode(previousErrors[0]);
  const inScript = /@user_script: ?\d+: -?([A-Z]{2,})\b/.exec(error.message)?.[1];
  if (inScript !== undefined) return inScript;
  const code = /^-?([A-Z]+)\b/.exec(error.message)?.[1] ?? 'ERR';
  // Before Redis 6, or with HELLO refused, a wrong password has no code of its own.
  if (code === 'ERR' && /invalid password|AUTH/i.test(error.message)) return 'WRONGPASS';
  return code;
}

/**
 * What an error of the client means. `address` is host and port, without credentials.
 * The client's own error is not kept as the cause: it carries the command's arguments, which are keys of rows.
 */
export function explainRedisError(error: unknown, address: string): RollcallError {
  if (error instanceof RollcallError) return error;
  const code = replyCode(error);
  const known = code === null ? undefined : REPLIES[code];
  if (known !== undefined) {
    return new RollcallError(known.code, `Redis at ${address} ${known.what}`, { remedy: known.remedy });
  }
  if (code !== null) {
    const shown = OTHER_CODES.has(code) ? code : 'an error that Rollcall does not know';
    return new RollcallError('INDEX_REFUSED', `Redis at ${address} refuses a command with ${shown}`, {
      remedy: 'Rollcall needs Redis 6.2 or later, or one compatible with it; see the log of Redis.',
    });
  }
  const trouble = troubleOf(error);
  return new RollcallError('INDEX_UNREACHABLE', `Redis at ${address} does not answer: ${trouble}`, {
    remedy: /CERT|ALTNAME/.test(trouble)
      ? 'Use a name that the certificate of Redis names; trust its authority by NODE_EXTRA_CA_CERTS=<file>.'
      : 'Check that Redis runs and can be reached from here, and redis.url (rediss:// where it wants TLS).',
  });
}

/** How the client's own texts begin, and the same for people who do not know the client. Wording only: none decides anything. */
const CLIENT_TEXTS: readonly (readonly [start: string, wording: string])[] = [
  ['Command timed out', 'no reply in time'],
  ['Reached the max retries', 'the connection broke'],
  ["Stream isn't writeable", 'the connection is away'],
  ['Unknown RESP type', 'what answers there is no Redis'],
];

/** A system error's code where there is one: texts may hold whatever the other side sent. */
function troubleOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown trouble';
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return code;
  if (error instanceof AggregateError) return troubleOf(error.errors[0]);
  return CLIENT_TEXTS.find(([start]) => error.message.startsWith(start))?.[1] ?? 'unknown trouble';
}
