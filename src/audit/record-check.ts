import type { TopicSuffix } from '../model/collections.ts';
import { RollcallError } from '../errors.ts';
import { FRAME_BYTES, isFramed } from '../log/framing.ts';
import type { LoggedRecord } from '../log/log.ts';

/** The registry client requests an unknown id again each time: stop after this many attempts. */
const ATTEMPTS_PER_SCHEMA = 20;
const HASH = /^[0-9a-f]{32}$/;

type Headers = NonNullable<ReturnType<NonNullable<LoggedRecord['headers']>>>;

export interface RecordCheckParts {
  readonly tenantId: string;
  /** Decodes a framed value with the schema that it names. */
  readonly decode: (framed: Buffer) => Promise<unknown>;
  /** The hash that a record's value must have in its topic; null when it cannot be computed. */
  readonly hashOf: (topic: TopicSuffix, value: object, body: Buffer) => Buffer | null;
}

/** The result for a record that is not a removal. */
export interface CheckedRecord {
  /** From its header, 16 bytes; null when the header is missing or unreadable. */
  readonly hash: Buffer | null;
  /** The value is readable, has all headers of the contract, and matches its hash. */
  readonly isSound: boolean;
  /** Null when it is unreadable. */
  readonly value: object | null;
}

/** Checks records against the contract. */
export class RecordCheck {
  readonly #parts: RecordCheckParts;
  /** Failed attempts, by id of a schema that has never decoded a value. */
  readonly #failures = new Map<number, number>();
  readonly #known = new Set<number>();

  constructor(parts: RecordCheckParts) {
    this.#parts = parts;
  }

  /** Throws `REGISTRY_UNREACHABLE`. */
  async check({
    topic,
    value: framed,
    headers: headersOf,
  }: Pick<LoggedRecord, 'topic' | 'headers'> & { value: Buffer }): Promise<CheckedRecord> {
    const headers = headersOf?.() ?? {};
    const header = textOf(headers['content-hash']);
    const hash = HASH.test(header) ? Buffer.from(header, 'hex') : null;
    const value = await this.#decode(framed);
    if (value === null || hash === null || !this.#hasHeaders(topic, headers)) {
      return { hash, isSound: false, value };
    }
    const isSound = this.#matchesHash({ topic, value, body: framed.subarray(FRAME_BYTES), hash });
    return { hash, isSound, value };
  }

  async #decode(framed: Buffer): Promise<object | null> {
    if (!isFramed(framed)) return null;
    const schemaId = framed.readInt32BE(1);
    const failures = this.#failures.get(schemaId) ?? 0;
    if (failures >= ATTEMPTS_PER_SCHEMA && !this.#known.has(schemaId)) return null;
    try {
      const value = await this.#parts.decode(framed);
      this.#known.add(schemaId);
      return typeof value === 'object' ? value : null;
    } catch (error) {
      if (!(error instanceof RollcallError) || error.code !== 'REGISTRY_REFUSED') throw error;
      this.#failures.set(schemaId, failures + 1);
      return null;
    }
  }

  #hasHeaders(topic: TopicSuffix, headers: Headers): boolean {
    const type = topic === 'absence-changes' ? 'absence' : topic;
    return (
      textOf(headers['ce_specversion']) === '1.0' &&
      textOf(headers['ce_source']) === `/rollcall/${this.#parts.tenantId}/${topic}` &&
      textOf(headers['ce_id']) !== '' &&
      textOf(headers['ce_type']).startsWith(`rollcall.${type}.`) &&
      textOf(headers['content-type']) === 'application/avro'
    );
  }

  #matchesHash(record: { topic: TopicSuffix; value: object; body: Buffer; hash: Buffer }): boolean {
    try {
      const computed = this.#parts.hashOf(record.topic, record.value, record.body);
      return computed === null || computed.equals(record.hash);
    } catch {
      // The record names a schema that is not its topic's.
      return false;
    }
  }
}

function textOf(header: Headers[string]): string {
  return header === undefined ? '' : String(header);
}
