import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import type { TenantAbsences } from '../../../src/table/tenant.ts';
import type { Surroundings } from '../parts/surroundings.ts';
import type { Broker } from '../tenants/broker.ts';
import { TenantRedis } from '../tenants/tenant-redis.ts';
import { changeCodec, decodeFramed, encodeEvent, versionCodec } from './chain-codecs.ts';
import { ChainLife, type ChainsKind } from './chain-life.ts';
import { contentOfValue } from './hub-version.ts';
import { hidesStudent, holdsStudent, MAPPINGS, PLAIN, type Mapping } from './mappings.ts';

const DAY_MS = 24 * 3_600_000;
const ABSENT_DAYS = 3;
/** Until then, at most, absences are switched off. */
const WITHOUT_FOR_MS = 1_500;

/** Where the absences of a history are kept. */
interface Storage {
  readonly broker: Broker;
  readonly redis: TenantRedis;
}

/** The absences of a history: what the hub has, and how each process is configured. */
export class MirroredAbsences implements Storage {
  readonly hub: ChainLife;
  readonly broker: Broker;
  readonly redis: TenantRedis;
  /** An index that is made from the topics alone at the end. */
  readonly rebuilt: TenantRedis;
  readonly forgetAfterMs: number;
  /** By the number of the process. */
  readonly mappings: Mapping[] = [];
  /** Entries with a student's own id that a process copied although its mapping hides it. */
  readonly copiedStudents: string[] = [];
  readonly #at: Surroundings;
  readonly #withoutUntilMs: number;
  readonly #changesMapping: boolean;

  constructor(at: Surroundings, kind: ChainsKind, { broker, redis }: Storage) {
    const { random, time } = at;
    this.#at = at;
    this.broker = broker;
    this.redis = redis;
    this.forgetAfterMs = random.pick([1, 3, 30]) * DAY_MS;
    const published = (id: string): string | undefined => this.#published(id);
    this.hub = new ChainLife(at, { kind, hasUuids: random.chance(0.5), published });
    this.rebuilt = new TenantRedis(at);
    this.#withoutUntilMs = random.chance(0.3) ? time.now() + random.below(WITHOUT_FOR_MS) : 0;
    this.#changesMapping = random.chance(0.4);
  }

  /** Days that end before are no longer in the list of the absent, ms since the epoch. */
  readonly absentSinceMs = (mapping = this.mappings.at(-1) ?? PLAIN): number =>
    hidesStudent(mapping) ? Infinity : this.#at.time.now() - ABSENT_DAYS * DAY_MS;

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
      decodeVersion: (body) => versionCodec.fromBuffer(body),
      decode: decodeFramed,
      reader: mapping.reader,
      absentSinceMs: () => this.absentSinceMs(mapping),
      forgetAfterMs: this.forgetAfterMs,
      onStudents: () => undefined,
    };
  }

  /** Looks for students in an index that a recovery has just filled. */
  look(process: number, event: PipelineEvent): void {
    if (event.type !== 'caught-up' || event.how !== 'rebuilt' || !hidesStudent(this.mappingOf(process)))
      return;
    for (const [area, entries] of Object.entries(this.redis.contents('absence-versions')))
      for (const [key, bytes] of entries) if (holdsStudent(bytes)) this.copiedStudents.push(`${area} ${key}`);
  }

  #published(id: string): string | undefined {
    const records = this.broker.recordsOf('absence-versions');
    const body = records.findLast(({ key }) => key === id)?.body ?? null;
    return body === null ? undefined : contentOfValue(versionCodec.fromBuffer(body));
  }
}
