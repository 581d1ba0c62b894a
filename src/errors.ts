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

/** What failed; `command`: what a person wrote; `log`: Kafka; `index`: Redis; `owner`: this process does not own the tenant. */
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
  HUB_PAGING_BROKEN: { source: 'hub', reaction: 'retry' },
  HUB_TOKEN_UNAVAILABLE: { source: 'hub', reaction: 'retry' },
  HUB_TOKEN_REFUSED: { source: 'hub', reaction: 'person' },
  HUB_FORBIDDEN: { source: 'hub', reaction: 'person' },
  HUB_NOT_OFFERED: { source: 'hub', reaction: 'person' },
  HUB_REQUEST_REFUSED: { source: 'hub', reaction: 'person' },
  HUB_FOREIGN_DATA: { source: 'hub', reaction: 'person' },
  KAFKA_UNREACHABLE: { source: 'log', reaction: 'retry' },
  KAFKA_REFUSED: { source: 'log', reaction: 'person' },
  KAFKA_OUTCOME_UNKNOWN: { source: 'log', reaction: 'restart' },
  KAFKA_TOPIC_MISMATCH: { source: 'log', reaction: 'person' },
  KAFKA_TOPIC_MISSING: { source: 'log', reaction: 'restart' },
  KAFKA_RECORDS_LOST: { source: 'log', reaction: 'restart' },
  OWNERSHIP_LOST: { source: 'owner', reaction: 'person' },
  OWNER_BUSY: { source: 'owner', reaction: 'person' },
  REGISTRY_UNREACHABLE: { source: 'registry', reaction: 'retry' },
  REGISTRY_REFUSED: { source: 'registry', reaction: 'person' },
  SCHEMA_INCOMPATIBLE: { source: 'registry', reaction: 'person' },
  INDEX_UNREACHABLE: { source: 'index', reaction: 'retry' },
  INDEX_REFUSED: { source: 'index', reaction: 'person' },
  INDEX_DIVERGED: { source: 'index', reaction: 'restart' },
  INTERNAL: { source: 'program', reaction: 'restart' },
} as const satisfies Record<string, { source: ErrorSource; reaction: Reaction }>;

/** Stable name of an error; operators may match on it. */
export type ErrorCode = keyof typeof CODES;

/** A code that another process sent; of one that this version does not know only that it failed. */
export function errorCodeFrom(text: string): ErrorCode {
  return Object.hasOwn(CODES, text) ? (text as ErrorCode) : 'INTERNAL';
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

  get source(): ErrorSource {
    return CODES[this.code].source;
  }

  get reaction(): Reaction {
    return CODES[this.code].reaction;
  }
}

/** Whether the hub failed: log and index are as before, and the tenant's other collections continue. */
export function isFromHub(error: unknown): error is RollcallError {
  return error instanceof RollcallError && error.source === 'hub';
}

/**
 * What went wrong, as one line without a stack: `message (code)`. Of an unknown error only its kind is told: messages
 * of parsers quote what they parsed (invariant 9).
 */
export function describeError(error: unknown): string {
  if (error instanceof RollcallError) return `${error.message} (${error.code})`;
  return `something unforeseen happened: ${error instanceof Error ? error.name : typeof error}`;
}
