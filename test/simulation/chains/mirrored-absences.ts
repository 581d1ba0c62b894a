import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import { areasOf } from '../../../src/state/index-store.ts';
import type { TenantAbsences } from '../../../src/table/tenant.ts';
import type { StateHistory } from '../../oracle/history.ts';
import { differenceFrom, type TopicRecord } from '../../oracle/rows.ts';
import type { Surroundings } from '../parts/surroundings.ts';
import type { Broker } from '../tenants/broker.ts';
import { unmasked } from '../tenants/evidence.ts';
import { TenantRedis } from '../tenants/tenant-redis.ts';
import { changeCodec, decodeFramed, encodeEvent, versionCodec } from './chain-codecs.ts';
import { ChainLife, type ChainsKind } from './chain-life.ts';
import { jsonOf } from './hub-version.ts';
import { hidesStudent, holdsStudent, MAPPINGS, PLAIN, type Mapping } from './mappings.ts';

const DAY_MS = 24 * 3_600_000;
const ABSENT_DAYS = 3;
/** Until then, at most, absences are switched off. */
const WITHOUT_FOR_MS = 1_500;
/** Fields that some mapping drops, and what follows from them. */
export const DROPPED = ['school', 'schoolId'];

/** The absences of a history: what the hub has, and how each process is configured. */
export class MirroredAbsences {
  readonly hub: ChainLife;
  readonly broker: Broker;
  readonly redis: TenantRedis;
  /** An index that is made from the topics alone at the end. */
  readonly rebuilt: TenantRedis;
  /** By the number of the process. */
  readonly mappings: Mapping[] = [];
  /** Entries with a student's own id that a process copied although its mapping hides it. */
  readonly copiedStudents: string[] = [];
  readonly #at: Surroundings;
  readonly #forgetAfterMs: number;
  readonly #withoutUntilMs: number;
  readonly #changesMapping: boolean;

  constructor(
    at: Surroundings,
    kind: ChainsKind,
    { broker, redis, history }: { broker: Broker; redis: TenantRedis; history: StateHistory },
  ) {
    const { random, time } = at;
    this.#at = at;
    this.broker = broker;
    this.redis = redis;
    this.#forgetAfterMs = random.pick([1, 3, 30]) * DAY_MS;
    this.hub = new ChainLife(at, kind, history, (row) => {
      const body = broker.recordsOf('absence-versions').findLast(({ key }) => key === row.id)?.body;
      if (body == null) return false;
      const value = unmasked(versionCodec.fromBuffer(body) as object as TopicRecord['value'] & object);
      return differenceFrom(jsonOf(row), { value }, DROPPED) === null;
    });
    this.rebuilt = new TenantRedis(at);
    this.#withoutUntilMs = random.chance(0.3) ? time.now() + random.below(WITHOUT_FOR_MS) : 0;
    this.#changesMapping = random.chance(0.4);
  }

  /** Days that end before are no longer in the list of the absent, ms since the epoch; null: there is no list. */
  readonly absentSinceMs = (mapping = this.mappings.at(-1) ?? PLAIN): number | null =>
    hidesStudent(mapping) ? null : this.#at.time.now() - ABSENT_DAYS * DAY_MS;

  /** Whether they are switched on only after some processes. */
  get cameLate(): boolean {
    return this.#withoutUntilMs > 0;
  }

  /** Chooses the mapping of a process. Returns whether it differs from the one before. */
  configure(process: number, mayChange: boolean): boolean {
    const { random } = this.#at;
    const before = this.mappings[process - 1] ?? PLAIN;
    const isOther = mayChange && this.#changesMapping && random.chance(0.4);
    const mapping = isOther ? random.pick(MAPPINGS) : before;
    this.mappings[process] = mapping;
    return mapping !== before;
  }

  mappingOf(process: number): Mapping {
    return this.mappings[process] ?? this.mappings.at(-1) ?? PLAIN;
  }

  /** Undefined while they are switched off: then only the versions are mirrored. */
  partsFor(process: number): TenantAbsences | undefined {
    if (this.#at.time.now() < this.#withoutUntilMs) return undefined;
    const mapping = this.mappingOf(process);
    return {
      encodeEvent,
      encodeChange: (value) => changeCodec.toBuffer(value),
      decode: decodeFramed,
      reader: mapping.reader,
      absentSinceMs: () => this.absentSinceMs(mapping),
      forgetAfterMs: this.#forgetAfterMs,
      onStudents: () => undefined,
    };
  }

  /** Looks for students in an index that a recovery has just filled. */
  async look(process: number, event: PipelineEvent): Promise<void> {
    if (event.type !== 'caught-up' || event.how !== 'rebuilt' || !hidesStudent(this.mappingOf(process)))
      return;
    // Redis may have fallen back since.
    const at = await this.redis.memory.collection('absence-versions').position();
    if (at?.transactionId !== event.progress?.transactionId) return;
    for (const area of areasOf('absence-versions'))
      for (const [key, bytes] of await this.redis.contents('absence-versions', area))
        if (holdsStudent(bytes)) this.copiedStudents.push(`${area} ${key}`);
  }
}
