import type { AbsenceChangeValue } from '../../core/absence-change.ts';
import { redactedEvent } from '../../core/redacted-event.ts';
import type { Offsets } from '../../model/progress.ts';
import { partitionName, topicName } from '../../model/topic-names.ts';
import { isFramed } from '../../log/framing.ts';
import type { LoggedRecord } from '../../log/log.ts';
import type { TenantChains, TenantParts } from '../tenant-parts.ts';

const TOPIC = 'absence-changes';

export interface OutdatedEventsParts {
  readonly tenant: Pick<TenantParts, 'log' | 'topicPrefix' | 'tenantId'>;
  readonly chains: Pick<TenantChains, 'decode' | 'encodeChange' | 'reader'>;
  readonly signal: AbortSignal;
}

/** Limits of a batch in memory. */
export interface BatchBounds {
  readonly events: number;
  readonly bytes: number;
}

/** An event to publish again, under the mapping in force. */
export interface RedactedEvent extends Pick<AbsenceChangeValue, 'operation'> {
  readonly absenceId: string;
  readonly modifiedAtMs: number | null;
  readonly firstSequence: number | null;
  readonly body: Buffer;
}

/**
 * The absences whose last event holds data that the mapping in force takes out, with the offset of that event. The values
 * are read again when they are needed: all of them together would fill the memory.
 */
export class OutdatedEvents {
  readonly #parts: OutdatedEventsParts;
  /** Offset of the last event by absence id, which determines its partition. */
  readonly #offsets = new Map<string, number>();
  /** Last offset read, by partition. */
  readonly #knownTo: Record<string, number> = {};

  constructor(parts: OutdatedEventsParts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#offsets.size;
  }

  has(absenceId: string): boolean {
    return this.#offsets.has(absenceId);
  }

  drop(absenceId: string): void {
    this.#offsets.delete(absenceId);
  }

  /** Reads the topic from its beginning. */
  find(): Promise<void> {
    return this.#readOn(async (record) => {
      this.drop(record.key);
      if ((await this.#redacted(record)) !== null) this.#offsets.set(record.key, record.offset);
    });
  }

  /** Reads the new records: drops an absence that has a newer event, or was forgotten. */
  dropStale(): Promise<void> {
    return this.#readOn(({ key }) => {
      this.drop(key);
      return Promise.resolve();
    });
  }

  /** The events to publish, in batches; skips absences that are dropped before the read reaches them. */
  async *batches(bounds: BatchBounds): AsyncGenerator<readonly RedactedEvent[]> {
    const readTo: Record<string, number> = {};
    for (let isEnd = false; !isEnd && this.count > 0;) {
      const batch: RedactedEvent[] = [];
      isEnd = await this.#fill(batch, readTo, bounds);
      if (batch.length > 0) yield batch;
    }
  }

  /** Advances `readTo` until the batch is full; returns whether the topic ended before that. */
  async #fill(batch: RedactedEvent[], readTo: Record<string, number>, bounds: BatchBounds): Promise<boolean> {
    const full = new AbortController();
    const signal = AbortSignal.any([this.#parts.signal, full.signal]);
    let bytes = 0;
    const take = async (record: LoggedRecord): Promise<void> => {
      if (full.signal.aborted) return;
      readTo[this.#partitionOf(record)] = record.offset;
      if (this.#offsets.get(record.key) !== record.offset) return;
      const event = await this.#redacted(record);
      if (event === null) return;
      const redacted = this.#render(event, record);
      batch.push(redacted);
      bytes += redacted.body.length;
      if (batch.length >= bounds.events || bytes >= bounds.bytes) full.abort();
    };
    try {
      await this.#read({ ...readTo }, take, signal);
    } catch (error) {
      if (!full.signal.aborted) throw error;
      this.#parts.signal.throwIfAborted();
    }
    return !full.signal.aborted;
  }

  #readOn(take: (record: LoggedRecord) => Promise<void>): Promise<void> {
    const note = async (record: LoggedRecord): Promise<void> => {
      await take(record);
      this.#knownTo[this.#partitionOf(record)] = record.offset;
    };
    return this.#read({ ...this.#knownTo }, note, this.#parts.signal);
  }

  #read(after: Offsets, take: (record: LoggedRecord) => Promise<void>, signal: AbortSignal): Promise<void> {
    return this.#parts.tenant.log.read({
      from: [{ topic: TOPIC, after }],
      onBatch: async (records) => {
        for (const record of records) await take(record);
      },
      signal,
    });
  }

  async #redacted({ value, mapping }: LoggedRecord): Promise<AbsenceChangeValue | null> {
    const { reader, decode } = this.#parts.chains;
    if (value === null || !isFramed(value) || mapping === (reader.mapping ?? null)) return null;
    return redactedEvent(reader, (await decode(value)) as AbsenceChangeValue, mapping);
  }

  #render(event: AbsenceChangeValue, { key, firstSequence }: LoggedRecord): RedactedEvent {
    return {
      absenceId: key,
      operation: event.operation,
      modifiedAtMs: event.version.dateLastModified ?? null,
      firstSequence,
      body: this.#parts.chains.encodeChange(event),
    };
  }

  #partitionOf({ partition }: LoggedRecord): string {
    return partitionName(topicName(this.#parts.tenant, TOPIC), partition);
  }
}
