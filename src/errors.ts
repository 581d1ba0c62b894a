/**
 * The errors that a person may have to read.
 *
 * Errors are data: the code, never the text, decides what happens next (retry, stop, exit code).
 * The text names what happened and to what; the remedy names what to do. Neither contains a secret or
 * the content of a row (invariant 9).
 */

/**
 * The caller's reaction to an error.
 * - `retry`: the error is transient and the same attempt may succeed (the hub's 5xx, a broken connection)
 * - `restart`: the state of the log is uncertain; the process owns the tenant again, catches up and continues
 * - `person`: only a change of configuration or rights, or a decision, resolves it
 * - `fail`: as `person`, and a new session would fail, too. So the tenant counts as failed, and is tried again only
 *   every five minutes
 */
type Reaction = 'retry' | 'restart' | 'person' | 'fail';

/** The part that failed. `command`: a person's input; `log`: Kafka; `index`: Redis; `owner`: the ownership of the tenant. */
export type ErrorSource = 'command' | 'hub' | 'log' | 'registry' | 'index' | 'owner' | 'program';

const CODES = {
  CONFIG_INVALID: { source: 'command', reaction: 'person' },
  USAGE_INVALID: { source: 'command', reaction: 'person' },
  HUB_UNREACHABLE: { source: 'hub', reaction: 'retry' },
  HUB_TIMEOUT: { source: 'hub', reaction: 'retry' },
  HUB_UNAVAILABLE: { source: 'hub', reaction: 'retry' },
  HUB_CIRCUIT_OPEN: { source: 'hub', reaction: 'retry' },
  HUB_RESPONSE_TOO_LARGE: { source: 'hub', reaction: 'retry' },
  HUB_PAGE_TOO_LONG: { source: 'hub', reaction: 'retry' },
  HUB_BODY_INVALID: { source: 'hub', reaction: 'retry' },
  HUB_LESSONS_UNREADABLE: { source: 'hub', reaction: 'person' },
  HUB_PAGING_BROKEN: { source: 'hub', reaction: 'retry' },
  HUB_TOKEN_UNAVAILABLE: { source: 'hub', reaction: 'retry' },
  HUB_TOKEN_REFUSED: { source: 'hub', reaction: 'person' },
  HUB_FORBIDDEN: { source: 'hub', reaction: 'person' },
  HUB_NOT_OFFERED: { source: 'hub', reaction: 'person' },
  HUB_REQUEST_REFUSED: { source: 'hub', reaction: 'person' },
  HUB_FOREIGN_DATA: { source: 'hub', reaction: 'person' },
  KAFKA_UNREACHABLE: { source: 'log', reaction: 'retry' },
  KAFKA_REFUSED: { source: 'log', reaction: 'person' },
  KAFKA_FENCED: { source: 'log', reaction: 'restart' },
  KAFKA_NOT_SENT: { source: 'log', reaction: 'restart' },
  KAFKA_OUTCOME_UNKNOWN: { source: 'log', reaction: 'restart' },
  KAFKA_TOPIC_MISMATCH: { source: 'log', reaction: 'fail' },
  KAFKA_TOPIC_MISSING: { source: 'log', reaction: 'restart' },
  KAFKA_RECORDS_LOST: { source: 'log', reaction: 'restart' },
  ABSENCES_LOST: { source: 'log', reaction: 'person' },
  OWNERSHIP_LOST: { source: 'owner', reaction: 'fail' },
  OWNER_BUSY: { source: 'owner', reaction: 'person' },
  REGISTRY_UNREACHABLE: { source: 'registry', reaction: 'retry' },
  REGISTRY_REFUSED: { source: 'registry', reaction: 'person' },
  SCHEMA_LOST: { source: 'registry', reaction: 'restart' },
  SCHEMA_INCOMPATIBLE: { source: 'registry', reaction: 'fail' },
  INDEX_UNREACHABLE: { source: 'index', reaction: 'retry' },
  INDEX_REFUSED: { source: 'index', reaction: 'person' },
  INDEX_DIVERGED: { source: 'index', reaction: 'restart' },
  INTERNAL: { source: 'program', reaction: 'restart' },
} as const satisfies Record<string, { source: ErrorSource; reaction: Reaction }>;

/** Stable name of an error; operators may match on it. */
export type ErrorCode = keyof typeof CODES;

export const ERROR_CODES = Object.keys(CODES) as readonly ErrorCode[];

/** Reads a code that another process sent; returns `INTERNAL` for one that this version does not know. */
export function errorCodeFrom(text: string): ErrorCode {
  return Object.hasOwn(CODES, text) ? (text as ErrorCode) : 'INTERNAL';
}

/** An error with a code and a remedy. Users see no stack trace of it. */
export class RollcallError extends Error {
  readonly code: ErrorCode;
  /** What to do about it. */
  readonly remedy: string;

  constructor(code: ErrorCode, message: string, options: { remedy: string; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'RollcallError';
    this.code = code;
    this.remedy = options.remedy;
  }

  get source(): ErrorSource {
    return CODES[this.code].source;
  }

  get reaction(): Reaction {
    return CODES[this.code].reaction;
  }
}

/** Whether log and index are as the session knows them, so that it can go on. */
export function leavesSessionWhole(error: unknown): boolean {
  return error instanceof RollcallError && error.reaction !== 'restart';
}

/** Whether the hub failed: log and index are as before, and the tenant's other collections continue. */
export function isFromHub(error: unknown): error is RollcallError {
  return error instanceof RollcallError && error.source === 'hub';
}

/** Whether an error has one of these codes. */
export function hasCode(error: unknown, ...codes: readonly ErrorCode[]): error is RollcallError {
  return error instanceof RollcallError && codes.includes(error.code);
}

/** Whether one collection failed, and the tenant's others continue: the hub failed, or absences need a decision. */
export function isOfOneCollection(error: unknown): error is RollcallError {
  return isFromHub(error) || hasCode(error, 'ABSENCES_LOST');
}

/**
 * Describes an error in one line without a stack: `message (code)`. For an unknown error it names only the class and where it
 * arose, since messages of parsers quote their input (invariant 9).
 */
export function describeError(error: unknown): string {
  if (error instanceof RollcallError) return `${error.message} (${error.code})`;
  const what = error instanceof Error ? `${error.name}${placeOf(error)}` : typeof error;
  return `an unexpected error occurred: ${what}`;
}

const CALL = /^ +at (?:async |new )*([\w.#]+) \((?:file:\/\/)?(src\/[\w/-]+\.[jt]s):/m;

/** The innermost function of the program in the stack of an error, and its file; empty where it names none. */
function placeOf({ stack = '', message }: Error): string {
  // A stack begins with the message, which may itself look like a call. Only what follows the message is searched.
  const [, calls = ''] = stack.split(`: ${message}\n`);
  const [, name, file] = CALL.exec(calls.replaceAll(import.meta.dirname, 'src')) ?? [];
  return file === undefined ? '' : ` in ${name}, ${file}`;
}

/**
 * The code that the system, TLS or undici gave a failure, even if the failure is wrapped or is one of several; null
 * if there is none.
 */
export function systemCode(error: unknown, depth = 0): string | null {
  if (!(error instanceof Error) || depth > 4) return null;
  const { code, cause } = error as NodeJS.ErrnoException;
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return code;
  return systemCode(error instanceof AggregateError ? error.errors[0] : cause, depth + 1);
}

/** Whether a code of OpenSSL or Node says that a certificate is not trusted. */
export function isUntrusted(code: unknown): boolean {
  return (
    typeof code === 'string' && /CERT|ALTNAME|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code) && !refusesOurs(code)
  );
}

/** Whether a code says that no TLS connection could be made, for a reason other than an untrusted certificate. */
export function isTls(code: string): boolean {
  return code.startsWith('ERR_SSL') || code === 'EPROTO';
}

/** Whether a code says that the other side refuses the certificate of this client, or wants one (the alerts of RFC 8446 6.2). */
export function refusesOurs(code: unknown): boolean {
  return typeof code === 'string' && /ALERT_.*(CERT|_CA$|HANDSHAKE)/.test(code);
}
