import type { OutgoingRecord } from '../../../src/log/log.ts';

export interface Entry {
  readonly offset: number;
  readonly record: OutgoingRecord;
  readonly stampMs: number;
  state: 'open' | 'committed' | 'aborted';
  /** The time after which `read_committed` readers may pass it, ms since the epoch. */
  stableAtMs: number;
}

/** One partition of a topic: the records that are still there, with offsets that no other record gets. */
export class Partition {
  /** The first offset that is still there, and the next one to be written. */
  low = 0;
  next = 0;
  entries: Entry[] = [];

  append(record: OutgoingRecord, stampMs: number): Entry {
    const entry: Entry = { offset: this.next, record, stampMs, state: 'open', stableAtMs: stampMs };
    this.next += 1;
    this.entries.push(entry);
    return entry;
  }

  /** A control batch. */
  mark(): void {
    this.next += 1;
  }

  /** First offset that a `read_committed` reader cannot have yet. */
  stableEnd(nowMs: number): number {
    const open = this.entries.find(({ state, stableAtMs }) => state === 'open' || stableAtMs > nowMs);
    return open?.offset ?? this.next;
  }

  /** Every marker is written before a new transaction begins. */
  stabilise(): void {
    for (const entry of this.entries) entry.stableAtMs = 0;
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
    this.entries = this.entries.filter((entry) => entry.offset < offset);
  }

  /** Deletes all records before an offset. */
  cutTo(offset: number): void {
    this.low = Math.min(offset, this.next);
    this.entries = this.entries.filter((entry) => entry.offset >= this.low);
  }
}
