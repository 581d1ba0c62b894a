import { setTimeout as delay } from 'node:timers/promises';
import type { Admin, Kafka } from 'kafkajs';
import type { TopicSuffix } from '../model/collections.ts';
import type { Offsets } from '../model/progress.ts';
import { partitionName, topicName } from '../model/topic-names.ts';
import type { EndMarkers } from './end-markers.ts';
import { kafkaError } from './kafka-errors.ts';
import { readUpTo } from './log-reader.ts';
import type { LoggedRecord, TenantLog, TopicRange } from './log.ts';
import type { ProgressCodec } from './progress-codec.ts';
import { LoggedTenant, readTenantProgress } from './tenant-progress.ts';
import { fetchOffsets, fetchOffsetsSince, type PartitionRange } from './topic-offsets.ts';

export interface ReadOnlyLogOptions {
  readonly kafka: Kafka;
  readonly topicPrefix: string;
  readonly tenantId: string;
  readonly progressCodec: ProgressCodec;
}

/** A broker answers a commit before it writes the markers; until then the records are after the last stable offset. */
const MARKERS_WITHIN_MS = 5_000;
const MARKERS_POLL_MS = 100;

/**
 * A tenant's topics for a reader that does not own the tenant: it fences no process and writes nothing, not even an end
 * marker. A missing topic counts as empty. Throws `KAFKA_…`, and `REGISTRY_…` for records of `progress`.
 */
export class ReadOnlyLog implements Pick<TenantLog, 'ranges' | 'offsetsSince' | 'read' | 'close'> {
  readonly #options: ReadOnlyLogOptions;
  readonly #admin: Admin;
  /** Temporary groups that the reads have joined. The brokers list them for some minutes, unless they are deleted. */
  readonly #groups: string[] = [];
  #isConnected = false;
  /** Last data offsets in `progress`. */
  #known: Offsets = {};

  constructor(options: ReadOnlyLogOptions) {
    this.#options = options;
    this.#admin = options.kafka.admin();
  }

  /** Reads `progress` to its current end, including every commit that was answered before the call. */
  async progress(signal: AbortSignal): Promise<LoggedTenant> {
    const { progressCodec: codec } = this.#options;
    if (!(await this.#existing(['progress'])).includes('progress')) return new LoggedTenant(codec);
    const topic = this.#name('progress');
    const [range] = await fetchOffsets(this.#admin, topic);
    const logged = await readTenantProgress({
      ...this.#readOptions(),
      topic,
      codec,
      to: range?.high ?? 0,
      awaitsDecision: true,
      signal,
    });
    this.#known = furthest([...logged.progress.values()].map(({ offsets }) => offsets));
    return logged;
  }

  async ranges(suffixes: readonly TopicSuffix[]): Promise<readonly TopicRange[]> {
    const existing = await this.#existing(suffixes);
    for (let waitedMs = 0; ; waitedMs += MARKERS_POLL_MS) {
      const ends = await Promise.all(existing.map((suffix) => this.#ends(suffix)));
      const isBehind = ends.some((each) => each.isBehind);
      if (!isBehind || waitedMs >= MARKERS_WITHIN_MS) {
        // Records that do not come within that time are lost; later reads do not wait for them.
        if (isBehind) this.#known = {};
        const ranges = new Map(existing.map((suffix, at) => [suffix, ends[at]?.partitions ?? []]));
        return suffixes.map((topic) => ({ topic, partitions: ranges.get(topic) ?? [] }));
      }
      await delay(MARKERS_POLL_MS);
    }
  }

  async offsetsSince(suffix: TopicSuffix, atMs: number): Promise<Offsets> {
    if ((await this.#existing([suffix])).length === 0) return {};
    const topic = this.#name(suffix);
    const offsets = await fetchOffsetsSince(this.#admin, topic, atMs);
    return Object.fromEntries(
      offsets.map(({ partition, offset }) => [partitionName(topic, partition), offset]),
    );
  }

  async read(options: {
    from: readonly { topic: TopicSuffix; after: Offsets }[];
    onBatch: (records: readonly LoggedRecord[]) => Promise<void>;
    signal: AbortSignal;
  }): Promise<void> {
    const existing = new Set(await this.#existing(options.from.map(({ topic }) => topic)));
    const last = new Map<string, { partition: number; offset: number }[]>();
    for (const suffix of existing) {
      const { partitions } = await this.#ends(suffix);
      last.set(
        this.#name(suffix),
        // No read reaches the end of a partition whose records are all deleted.
        partitions
          .filter(({ low, high }) => low < high)
          .map(({ partition, high }) => ({ partition, offset: high - 1 })),
      );
    }
    await readUpTo({
      ...options,
      ...this.#readOptions(),
      from: options.from.filter(({ topic }) => existing.has(topic)),
      topicOf: (suffix) => this.#name(suffix),
      last: last satisfies EndMarkers,
      awaitsDecision: true,
    });
  }

  /** Deletes the groups that the reads joined, if this user may, and disconnects. */
  async close(): Promise<void> {
    if (!this.#isConnected) return;
    const groups = this.#groups.splice(0);
    // Without the right to delete them, the groups stay until the brokers drop them.
    if (groups.length > 0) await this.#admin.deleteGroups(groups).catch(() => undefined);
    await this.#admin.disconnect().catch(() => undefined);
    this.#isConnected = false;
  }

  #readOptions(): { kafka: Kafka; groupIdPrefix: string; onGroup: (groupId: string) => void } {
    const { kafka, topicPrefix, tenantId } = this.#options;
    return {
      kafka,
      groupIdPrefix: `${topicPrefix}.${tenantId}`,
      onGroup: (groupId) => this.#groups.push(groupId),
    };
  }

  async #ends(suffix: TopicSuffix): Promise<{ partitions: readonly PartitionRange[]; isBehind: boolean }> {
    const topic = this.#name(suffix);
    const partitions = await fetchOffsets(this.#admin, topic);
    const isBehind = partitions.some(
      ({ partition, high }) => high <= (this.#known[partitionName(topic, partition)] ?? -1),
    );
    return { partitions, isBehind };
  }

  /** Returns those of the topics that exist. */
  async #existing(suffixes: readonly TopicSuffix[]): Promise<readonly TopicSuffix[]> {
    try {
      if (!this.#isConnected) await this.#admin.connect();
      this.#isConnected = true;
      const topics = new Set(await this.#admin.listTopics());
      return [...new Set(suffixes)].filter((suffix) => topics.has(this.#name(suffix)));
    } catch (error) {
      throw kafkaError(error, 'listing topics');
    }
  }

  #name(suffix: TopicSuffix): string {
    return topicName(this.#options, suffix);
  }
}

/** Returns the greatest offset of each partition, since several collections name offsets of `rejects`. */
function furthest(all: readonly Offsets[]): Offsets {
  const found: Record<string, number> = {};
  for (const offsets of all) {
    for (const [name, offset] of Object.entries(offsets)) found[name] = Math.max(found[name] ?? -1, offset);
  }
  return found;
}
