import type { CompactionSettings } from '../core/segment-rolls.ts';
import type { Committed, LoggedRecord, Ownership, TenantLog, TopicRange, Transaction } from '../log/log.ts';
import type { ReadOnlyLog } from '../log/read-only-log.ts';
import type { TopicSuffix } from '../model/collections.ts';
import type { Offsets } from '../model/progress.ts';
import type { Recorder } from './recorder.ts';

/** Stands for a tenant's log: it reads the topics, and hands transactions to a recorder. It owns nothing. */
export class RecordingLog implements TenantLog {
  readonly #topics: ReadOnlyLog;
  readonly #recorder: Recorder;
  readonly #onRead: (records: number) => void;

  /** `onRead`: called with how many records were read. */
  constructor(parts: { topics: ReadOnlyLog; recorder: Recorder; onRead: (records: number) => void }) {
    this.#topics = parts.topics;
    this.#recorder = parts.recorder;
    this.#onRead = parts.onRead;
  }

  async own(signal: AbortSignal): Promise<Ownership> {
    return (await this.#topics.progress(signal)).ownedBy('nobody');
  }

  commit(transaction: Transaction): Promise<Committed> {
    return this.#recorder.commit(transaction);
  }

  ranges(topics: readonly TopicSuffix[]): Promise<readonly TopicRange[]> {
    return this.#topics.ranges(topics);
  }

  offsetsSince(topic: TopicSuffix, atMs: number): Promise<Offsets> {
    return this.#topics.offsetsSince(topic, atMs);
  }

  read(options: {
    from: readonly { topic: TopicSuffix; after: Offsets }[];
    onBatch: (records: readonly LoggedRecord[]) => Promise<void>;
    signal: AbortSignal;
  }): Promise<void> {
    const onBatch = (records: readonly LoggedRecord[]): Promise<void> => {
      this.#onRead(records.length);
      return options.onBatch(records);
    };
    return this.#topics.read({ ...options, onBatch });
  }

  removedAt(): Offsets {
    return {};
  }

  /** Records that no sync publishes are no part of a plan. */
  remove(): Promise<void> {
    return Promise.resolve();
  }

  markEnds(): Promise<void> {
    return Promise.resolve();
  }

  compactionSettings(): Promise<ReadonlyMap<TopicSuffix, CompactionSettings>> {
    return Promise.resolve(new Map());
  }

  /** The caller closes the topics: one plan may open several sessions on them. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}
