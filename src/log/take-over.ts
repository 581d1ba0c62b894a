import { PARTITIONS_HEADER } from '../core/cloud-events.ts';
import { RollcallError } from '../errors.ts';
import { kafkaError } from './kafka-errors.ts';
import type { Ownership } from './log.ts';
import { RecordBatch } from './wire/record-batch.ts';
import { topicMismatch, type WantedTopic } from './topic-settings.ts';
import { OWNER_KEY, ownerHeaders, type ProgressValue } from './progress-codec.ts';
import type { LoggedTenant } from './progress-reader.ts';
import { appendEndMarkers, type TenantProducer } from './tenant-producer.ts';
import type { TenantSchemas } from './registry/tenant-schemas.ts';
import type { TransactionalProducer } from './transactional-producer.ts';
import type { TenantTopics, TenantTopicsOptions } from './tenant-topics.ts';

export interface OwnerOptions extends TenantTopicsOptions {
  readonly wanted: readonly WantedTopic[];
  readonly schemas: TenantSchemas;
  /** Returns the Avro body of a record of `progress`. */
  readonly encodeProgress: (value: ProgressValue) => Buffer;
  /** IANA name of the time zone in which the days of `schedules` are counted. */
  readonly timeZone: string;
  /** Identifies this process during its lifetime. */
  readonly owner: string;
  readonly now: () => number;
  readonly randomId: () => string;
}

/** Takes a tenant over, unless a newer process has: `@owner` in `progress` names the owner. */
export class TakeOver {
  readonly #options: OwnerOptions;
  readonly #topics: TenantTopics;
  readonly #producer: TenantProducer;
  /**
   * The end of `progress` before this process first tried to own the tenant: a later owner record is from a newer
   * process.
   */
  #progressEndAtFirst: number | null = null;
  #hasOwned = false;

  constructor(options: OwnerOptions, topics: TenantTopics, producer: TenantProducer) {
    this.#options = options;
    this.#topics = topics;
    this.#producer = producer;
  }

  /** `progressEnd`: offset of the last record in `progress`, or of the end marker after it. */
  async own(signal: AbortSignal): Promise<{ readonly ownership: Ownership; readonly progressEnd: number }> {
    const { owner, now } = this.#options;
    this.#producer.discard();
    // At its first attempt, this process takes the tenant from the owner that it finds. Later it initialises its
    // producer again only after an unknown outcome or a failed take-over. This could fence a newer process, so it first
    // reads who owns the tenant.
    const end = await this.#topics.progressEnd();
    if (this.#progressEndAtFirst === null) this.#progressEndAtFirst = end;
    else this.#requireNotSuperseded(await this.#topics.readProgress(end, signal));
    signal.throwIfAborted();
    const ownedSinceMs = now();
    const fencedAt = await this.#fence();
    const logged = await this.#topics.readProgress(fencedAt + 1, signal);
    // This process checks again now that no other process can commit: a newer process may have come in between.
    this.#requireNotSuperseded(logged);
    await this.#requireSamePartitions(logged);
    const progressEnd = logged.owner === owner ? fencedAt : await this.#claim(ownedSinceMs, fencedAt);
    this.#hasOwned = true;
    const { progress, transactionIds } = logged;
    return { ownership: { progress, transactionIds }, progressEnd };
  }

  /**
   * Throws `OWNERSHIP_LOST` if `progress` names a newer owner. Once this process has owned the tenant, any other owner
   * is newer, even if its record has a low offset in a recreated topic.
   */
  #requireNotSuperseded({ owner, ownerOffset }: LoggedTenant): void {
    if (owner === null || owner === this.#options.owner) return;
    if (!this.#hasOwned && ownerOffset < (this.#progressEndAtFirst ?? 0)) return;
    const message = `Another process has taken over tenant ${this.#options.tenantId}`;
    throw new RollcallError('OWNERSHIP_LOST', message, {
      remedy:
        'The newer process continues. This process tries again while the tenant is assigned to it. If this happens again and again, look for a process that uses the same Kafka and the same kafka.topicPrefix, but is not in the consumer group of these workers.',
    });
  }

  /**
   * The initialisation of the producer fences older producers, and resolves their open transactions. Returns the
   * offset of an end marker in `progress`: every transaction before it is decided. An end marker is aborted. So if
   * this process turns out to be superseded, it leaves no record that the newer process could mistake for a newer
   * owner.
   */
  async #fence(): Promise<number> {
    this.#producer.create();
    return this.#takingOver(async (created) => {
      await created.open();
      const [marker] = await appendEndMarkers(created, await this.#topics.allPartitions(['progress']));
      return offsetAfter(-1, marker?.offset);
    });
  }

  /**
   * Refuses a topic if its records were written when it had another number of partitions, even if the configuration now
   * names the present number.
   */
  async #requireSamePartitions({ partitions: before }: LoggedTenant): Promise<void> {
    const changed = this.#options.wanted.filter(
      ({ suffix, partitions }) => (before[suffix] ?? partitions) !== partitions,
    );
    const ranges = await this.#topics.ranges(changed.map(({ suffix }) => suffix));
    const written = changed.filter((_, at) => ranges[at]?.partitions.some(({ high }) => high > 0));
    const findings = written.map((topic) => {
      const { partitions, suffix } = topic;
      const differences = [
        `it has ${partitions} partitions, but its records were written to ${before[suffix]}`,
      ];
      return { topic, exists: true, partitions, differences, curable: false };
    });
    const mismatch = topicMismatch(findings);
    if (mismatch !== null) throw mismatch;
  }

  /** Publishes this process as the owner, for the process that it fenced; returns the record's offset. */
  #claim(ownedSinceMs: number, fencedAt: number): Promise<number> {
    const { encodeProgress, timeZone, owner, randomId, tenantId, schemas, wanted } = this.#options;
    const counts = Object.fromEntries(wanted.map(({ suffix, partitions }) => [suffix, partitions]));
    const body = encodeProgress({ collection: OWNER_KEY, owner, ownedSince: ownedSinceMs, timeZone });
    const headers = {
      ...ownerHeaders({ tenantId, id: randomId(), body }),
      [PARTITIONS_HEADER]: JSON.stringify(counts),
    };
    const batch = new RecordBatch();
    batch.append({ key: OWNER_KEY, body, schemaId: schemas.idOf('progress'), headers });
    return this.#takingOver(async (producer) => {
      const topic = this.#topics.name('progress');
      await producer.begin(new Map([[topic, [0]]]));
      const [written] = await producer.send([{ topic, partition: 0, batch }]);
      await producer.commit();
      return offsetAfter(fencedAt, written?.baseOffset);
    });
  }

  #takingOver(task: (producer: TransactionalProducer) => Promise<number>): Promise<number> {
    return this.#producer.run(task, (error) =>
      kafkaError(error, `taking over tenant ${this.#options.tenantId}`),
    );
  }
}

/** Requires an offset above `before`: without this check a missing offset would look like an empty log. */
function offsetAfter(before: number, offset: number | undefined): number {
  if (offset !== undefined && offset > before) return offset;
  throw new Error(`the brokers answered a write with offset ${offset}`);
}
