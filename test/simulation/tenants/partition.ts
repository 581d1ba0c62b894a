import type { OutgoingRecord } from '../../../src/log/log.ts';

export interface Entry {
  readonly offset: number;
  readonly record: OutgoingRecord;
  readonly stampMs: number;
  state: 'open' | 'committed' | 'aborted';
}

/** One partition of a topic: the records that are still there, with offsets that no other record gets. */
export class Partition {
  /** The first offset that is still there, and the next one to be written. */
  low = 0;
  next = 0;
  entries: Entry[] = [];
  /** Those of a transaction that is open, or whose marker is not written yet. */
  #unstable: Entry[] = [];

  append(record: OutgoingRecord, stampMs: number): Entry {
    const entry: Entry = { offset: this.next, record, stampMs, state: 'open' };
    this.next += 1;
    this.entries.push(entry);
    this.#unstable.push(entry);
    return entry;
  }

  /** Ends the open transaction, which readers learn from its marker. Returns what it has written here. */
  decide(state: 'committed' | 'aborted'): readonly Entry[] {
    for (const entry of this.#unstable) entry.state = state;
    return this.#unstable;
  }

  /** Writes the marker of a transaction: a control batch, which takes an offset. */
  mark(): void {
    this.next += 1;
    this.#unstable = [];
  }

  /** First offset that a `read_committed` reader cannot have yet. */
  get stableEnd(): number {
    return this.#unstable[0]?.offset ?? this.next;
  }

  /** Compacts like Kafka's cleaner: keeps the newest record of each key up to some point, and tombstones while they are young. */
  compact(options: { to: number; removalsSinceMs: number }): void {
    const newest = new Map<string, number>();
    for (const { offset, record, state } of this.entries) {
      if (offset < options.to && state === 'committed') newest.set(record.key, offset);
    }
    this.entries = this.entries.filter(({ offset, record, state, stampMs }) => {
      if (offset >= options.to || state === 'open') return true;
      const isExpired = record.body === null && stampMs < options.removalsSinceMs;
      return state === 'committed' && newest.get(record.key) === offset && !isExpired;
    });
  }

  /** Loses what was written from an offset on; a later record may get it. */
  truncate(offset: number): void {
    this.next = offset;
    this.#keep((entry) => entry.offset < offset);
  }

  /** Deletes all records before an offset. */
  cutTo(offset: number): void {
    this.low = Math.min(offset, this.next);
    this.#keep((entry) => entry.offset >= this.low);
  }

  #keep(isKept: (entry: Entry) => boolean): void {
    this.entries = this.entries.filter(isKept);
    this.#unstable = this.#unstable.filter(isKept);
  }
}
