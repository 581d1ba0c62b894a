/**
 * Everything that can go wrong and that a person may have to read about.
 *
 * Errors are data: a code decides what happens next (retry, stop, exit code), never the text.
 * The text says what happened and to what; the remedy says what to do. Neither holds a secret or
 * the content of a row (invariant 9).
 */

/**
 * What the caller should do about an error.
 * - `retry`: passing; the same attempt may go through (the hub's 5xx, a broken connection)
 * - `restart`: what is known of the log is uncertain; own the tenant again, catch up, go on
 * - `person`: nothing heals it but a change of configuration, rights or a decision
 */
type Reaction = 'retry' | 'restart' | 'person';

const REACTIONS = {
  CONFIG_INVALID: 'person',
  USAGE_INVALID: 'person',
  HUB_UNREACHABLE: 'retry',
  HUB_TIMEOUT: 'retry',
  HUB_UNAVAILABLE: 'retry',
  HUB_CIRCUIT_OPEN: 'retry',
  HUB_RESPONSE_TOO_LARGE: 'retry',
  HUB_PAGE_TOO_LONG: 'retry',
  HUB_BODY_INVALID: 'retry',
  HUB_PAGING_BROKEN: 'retry',
  HUB_TOKEN_UNAVAILABLE: 'retry',
  HUB_TOKEN_REFUSED: 'person',
  HUB_FORBIDDEN: 'person',
  HUB_NOT_OFFERED: 'person',
  HUB_REQUEST_REFUSED: 'person',
  HUB_FOREIGN_DATA: 'person',
  KAFKA_UNREACHABLE: 'retry',
  KAFKA_REFUSED: 'person',
  KAFKA_OUTCOME_UNKNOWN: 'restart',
  KAFKA_TOPIC_MISMATCH: 'person',
  KAFKA_TOPIC_MISSING: 'restart',
  KAFKA_RECORDS_LOST: 'restart',
  OWNERSHIP_LOST: 'person',
  OWNER_BUSY: 'person',
  REGISTRY_UNREACHABLE: 'retry',
  REGISTRY_REFUSED: 'person',
  SCHEMA_INCOMPATIBLE: 'person',
  INDEX_UNREACHABLE: 'retry',
  INDEX_REFUSED: 'person',
  INDEX_DIVERGED: 'restart',
  INTERNAL: 'restart',
} as const satisfies Record<string, Reaction>;

/** Stable name of an error; operators may match on it. */
export type ErrorCode = keyof typeof REACTIONS;

/** A code that another process sent; of one that this version does not know only that it failed. */
export function errorCodeFrom(text: string): ErrorCode {
  return Object.hasOwn(REACTIONS, text) ? (text as ErrorCode) : 'INTERNAL';
}

/** An error with a code, a remedy, and no stack trace worth showing to a user. */
export class RollcallError extends Error {
  readonly code: ErrorCode;
  /** One sentence: what to do about it. */
  readonly remedy: string;

  constructor(code: ErrorCode, message: string, options: { remedy: string; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'RollcallError';
    this.code = code;
    this.remedy = options.remedy;
  }

  get reaction(): Reaction {
    return REACTIONS[this.code];
  }
}

/**
 * What went wrong, as one line without a stack: `message (code)`. Of an unknown error only its kind is told: messages
 * of parsers quote what they parsed (invariant 9).
 */
export function describeError(error: unknown): string {
  if (error instanceof RollcallError) return `${error.message} (${error.code})`;
  return `something unforeseen happened: ${error instanceof Error ? error.name : typeof error}`;
}

/** Exit codes of the command line: part of the contract with scripts. */
export const EXIT = { ok: 0, failed: 1, badUse: 2, needsPerson: 3 } as const;

/** The exit code that an error ends a command with. */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof RollcallError)) return EXIT.failed;
  return error.code === 'CONFIG_INVALID' || error.code === 'USAGE_INVALID' ? EXIT.badUse : EXIT.failed;
}
