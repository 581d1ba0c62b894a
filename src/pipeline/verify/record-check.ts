import type { IHeaders } from 'kafkajs';
import type { TopicSuffix } from '../../model/collections.ts';
import { RollcallError } from '../../errors.ts';
import { FRAME_BYTES, isFramed } from '../../log/framing.ts';
import type { StoredRecord } from './topic-reader.ts';

/** An id that the registry does not know is asked for anew each time. */
const ATTEMPTS_PER_SCHEMA = 20;
const HASH = /^[0-9a-f]{32}$/;

export interface RecordCheckParts {
  readonly tenantId: string;
  /** A framed value, by the schema that it names. */
  readonly decode: (framed: Buffer) => Promise<unknown>;
  /** The hash that a record's value must have, by its topic; null where that cannot be told. */
  readonly hashOf: (topic: TopicSuffix, value: object, body: Buffer) => Buffer | null;
}

/** A record that is no removal. */
export interface CheckedRecord {
  /** As its header tells; null where there is none that can be read. */
  readonly hash: Buffer | null;
  /** It can be read, has all headers of the contract, and is what its hash says. */
  readonly isSound: boolean;
  /** Null where it cannot be read. */
  readonly value: object | null;
}

/** Tells whether records are as the contract wants them. */
export class RecordCheck {
  readonly #parts: RecordCheckParts;
  /** How often a schema's id was met in vain, of those that never decoded anything. */
  readonly #failures = new Map<number, number>();
  readonly #known = new Set<number>();

  constructor(parts: RecordCheckParts) {
    this.#parts = parts;
  }

  /** Throws `REGISTRY_UNREACHABLE`. */
  async check({ topic, value: framed, headers }: StoredRecord & { value: Buffer }): Promise<CheckedRecord> {
    const told = textOf(headers['content-hash']);
    const hash = HASH.test(told) ? Buffer.from(told, 'hex') : null;
    const value = await this.#decode(framed);
    if (value === null || hash === null || !this.#hasHeaders(topic, headers)) {
      return { hash, isSound: false, value };
    }
    const isSound = this.#isWhatItSays({ topic, value, body: framed.subarray(FRAME_BYTES), hash });
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

  #hasHeaders(topic: TopicSuffix, headers: IHeaders): boolean {
    const type = topic === 'absence-changes' ? 'absence' : topic;
    return (
      textOf(headers['ce_specversion']) === '1.0' &&
      textOf(headers['ce_source']) === `/rollcall/${this.#parts.tenantId}/${topic}` &&
      textOf(headers['ce_id']) !== '' &&
      textOf(headers['ce_type']).startsWith(`rollcall.${type}.`) &&
      textOf(headers['content-type']) === 'application/avro'
    );
  }

  #isWhatItSays(record: { topic: TopicSuffix; value: object; body: Buffer; hash: Buffer }): boolean {
    try {
      const computed = this.#parts.hashOf(record.topic, record.value, record.body);
      return computed === null || computed.equals(record.hash);
    } catch {
      // It was decoded by another schema than its topic's.
      return false;
    }
  }
}

function textOf(header: IHeaders[string]): string {
  return header === undefined ? '' : String(header);
}
