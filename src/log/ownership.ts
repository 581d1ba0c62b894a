import type { Kafka, Producer } from 'kafkajs';
import { RollcallError } from '../errors.ts';
import { appendEndMarkers } from './end-markers.ts';
import type { Framer } from './framing.ts';
import { kafkaError } from './kafka-errors.ts';
import type { Ownership } from './log.ts';
import { OWNER_KEY, ownerHeaders, type ProgressCodec } from './progress-codec.ts';
import type { TenantProducer } from './tenant-producer.ts';
import { readTenantProgress, type LoggedTenant } from './tenant-progress.ts';
import type { TenantTopics } from './tenant-topics.ts';

export interface OwnershipParts {
  readonly kafka: Kafka;
  readonly producer: TenantProducer;
  readonly topics: TenantTopics;
  readonly frame: Framer;
  readonly progressCodec: ProgressCodec;
  readonly tenantId: string;
  readonly groupIdPrefix: string;
  /** Names this process for as long as it lives. */
  readonly owner: string;
  readonly now: () => number;
  readonly randomId: () => string;
}

/** Takes a tenant over, and gives up where a newer process has taken it over: `@owner` in `progress` names the owner. */
export class TakeOver {
  readonly #parts: OwnershipParts;
  /** Where `progress` ended before this process first tried to own: an owner named beyond that came later. */
  #progressEndAtFirst: number | null = null;
  #hasOwned = false;

  constructor(parts: OwnershipParts) {
    this.#parts = parts;
  }

  /** `progressEnd`: offset of the last record in `progress`, or of the end marker behind it. */
  async own(signal: AbortSignal): Promise<{ readonly ownership: Ownership; readonly progressEnd: number }> {
    const { producer, topics, owner, now } = this.#parts;
    await producer.discard();
    await topics.connect();
    await this.#giveUpIfSuperseded(signal);
    signal.throwIfAborted();
    const ownedSinceMs = now();
    const fencedAt = await this.#fence();
    const logged = await this.#readProgress({ to: fencedAt + 1, signal });
    // A process that was fenced, or slow, looks again once nobody else can commit: a newer one may have come in between.
    if (this.#isSupersededBy(logged)) throw this.#superseded();
    const progressEnd = logged.owner === owner ? fencedAt : await this.#claim(ownedSinceMs, fencedAt);
    this.#hasOwned = true;
    return { ownership: { ...logged, owner }, progressEnd };
  }

  /**
   * A process that initialises its producer again after an unknown outcome would fence a newer process, so it first reads
   * who owns the tenant. That holds for a first take-over that failed, too; an owner from before is the one to supersede.
   */
  async #giveUpIfSuperseded(signal: AbortSignal): Promise<void> {
    const end = await this.#parts.topics.progressEnd();
    if (this.#progressEndAtFirst === null) {
      this.#progressEndAtFirst = end;
      return;
    }
    if (this.#isSupersededBy(await this.#readProgress({ to: end, signal }))) throw this.#superseded();
  }

  /** A process that has owned the tenant came before any other one that `progress` names, even if the topic begins again. */
  #isSupersededBy({ owner, ownerOffset }: LoggedTenant): boolean {
    if (owner === null || owner === this.#parts.owner) return false;
    return this.#hasOwned || ownerOffset >= (this.#progressEndAtFirst ?? 0);
  }

  #superseded(): RollcallError {
    return new RollcallError(
      'OWNERSHIP_LOST',
      `Another process has taken over tenant ${this.#parts.tenantId}`,
      {
        remedy:
          'Run one process a tenant; this one ends, the newer one goes on. In Kubernetes use strategy Recreate.',
      },
    );
  }

  /**
   * The init of the producer fences older ones and resolves what they left open. Returns the offset of a record in
   * `progress` before which every transaction is decided. The record is an end marker, which is aborted: a process that
   * turns out to be superseded leaves no trace that the newer process could take for a process that came after it.
   */
  async #fence(): Promise<number> {
    const { producer, topics } = this.#parts;
    producer.create();
    return this.#takingOver(async (created) => {
      await created.connect();
      const markers = await appendEndMarkers(created, await topics.allPartitions(['progress']));
      return offsetAfter(-1, markers.get(topics.name('progress'))?.[0]?.offset);
    });
  }

  /** Tells a process that is fenced who came; returns the record's offset. */
  #claim(ownedSinceMs: number, fencedAt: number): Promise<number> {
    const { progressCodec, owner, randomId, tenantId, frame, topics } = this.#parts;
    const body = progressCodec.encodeOwner({ owner, ownedSinceMs });
    const message = {
      key: OWNER_KEY,
      value: frame('progress', body),
      partition: 0,
      headers: ownerHeaders({ tenantId, id: randomId(), body }),
    };
    return this.#takingOver(async (producer) => {
      const transaction = await producer.transaction();
      const [written] = await transaction.send({ topic: topics.name('progress'), messages: [message] });
      await transaction.commit();
      return offsetAfter(fencedAt, Number(written?.baseOffset));
    });
  }

  #takingOver(task: (producer: Producer) => Promise<number>): Promise<number> {
    return this.#parts.producer.run(task, (error) =>
      kafkaError(error, `taking over tenant ${this.#parts.tenantId}`),
    );
  }

  #readProgress({ to, signal }: { to: number; signal: AbortSignal }): Promise<LoggedTenant> {
    const { kafka, groupIdPrefix, topics, progressCodec: codec } = this.#parts;
    return readTenantProgress({ kafka, groupIdPrefix, topic: topics.name('progress'), codec, to, signal });
  }
}

/** A record lies behind what was there before: an offset that says nothing would pass for an empty log. */
function offsetAfter(before: number, offset: number | undefined): number {
  if (offset !== undefined && offset > before) return offset;
  throw new Error(`the brokers answered a write with offset ${offset}`);
}
