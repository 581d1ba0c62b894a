import type { CollectionName, TopicSuffix } from '../../../src/model/collections.ts';
import type { ChainsKind } from '../chains/chain-life.ts';
import { MirroredAbsences } from '../chains/mirrored-absences.ts';
import type { SimulatedProcess } from '../parts/simulated-process.ts';
import type { Surroundings } from '../parts/surroundings.ts';
import { Broker } from './broker.ts';
import { HubClient, LIES, type HubManner } from './hub-client.ts';
import { AFTERSCHOOLS, TenantHub } from './tenant-hub.ts';
import { TenantRedis } from './tenant-redis.ts';

export interface TenantKind {
  /** One process at a time, each stopped before the next begins, or each taking over from the last. */
  readonly troubles: 'restarts' | 'take-overs' | 'lost-topics';
  /** Several collections of a hub that may lie; otherwise one of an honest hub, or absences with the chains of that kind. */
  readonly mirrors: 'several' | 'users' | ChainsKind;
}

/** `parts`: the share of the kind among all played histories. */
export const TENANT_KINDS = {
  'users-restarts': { troubles: 'restarts', mirrors: 'users', parts: 16 },
  'users-take-overs': { troubles: 'take-overs', mirrors: 'users', parts: 16 },
  'sound-chains-restarts': { troubles: 'restarts', mirrors: 'sound', parts: 1 },
  'sound-chains-take-overs': { troubles: 'take-overs', mirrors: 'sound', parts: 1 },
  'contradictory-chains-restarts': { troubles: 'restarts', mirrors: 'contradictory', parts: 1 },
  'contradictory-chains-take-overs': { troubles: 'take-overs', mirrors: 'contradictory', parts: 1 },
  'tenant-restarts': { troubles: 'restarts', mirrors: 'several', parts: 2 },
  'tenant-take-overs': { troubles: 'take-overs', mirrors: 'several', parts: 2 },
  'tenant-lost-topics': { troubles: 'lost-topics', mirrors: 'several', parts: 2 },
} as const satisfies Readonly<Record<string, TenantKind & { parts: number }>>;

export type TenantKindName = keyof typeof TENANT_KINDS;

/** Deletions that a person has approved. */
export interface Approval {
  readonly collection: CollectionName;
  readonly keys: ReadonlySet<string>;
  readonly atMs: number;
}

/** The parts of a history, and what happened to them; times are by its clock. */
export class TenantWorld {
  readonly at: Surroundings;
  readonly kind: TenantKind;
  readonly hub: TenantHub;
  readonly foreign: TenantHub;
  readonly client: HubClient;
  readonly broker: Broker;
  readonly redis: TenantRedis;
  readonly manner: HubManner;
  readonly collections: readonly CollectionName[];
  /** Null: they are not mirrored. */
  readonly absences: MirroredAbsences | null = null;
  readonly processes: SimulatedProcess[] = [];
  /** When sessions of a process failed, by its number: what they had read is lost. */
  readonly failures = new Map<number, number[]>();
  readonly fullStarts = new Map<CollectionName, number[]>();
  readonly approvals: Approval[] = [];
  /** By the number of the process, from 1: those that its configuration names. */
  readonly afterschools: (readonly string[])[] = [AFTERSCHOOLS];
  /** Topics that lost records, and the number of transactions by then. */
  readonly losses: { readonly topic: TopicSuffix; readonly transactions: number }[] = [];
  readonly problems: string[] = [];
  readonly happened = new Map<string, number>();
  readonly hasClockTrouble: boolean;
  /** Whether clocks and hub were reliable all the time. */
  canTrustIncrementals: boolean;
  /** Number of transactions when the hub was at rest and everything was read. */
  quietSince = 0;

  constructor(at: Surroundings, kind: TenantKind, manner: Partial<HubManner>) {
    const { random } = at;
    const { mirrors } = kind;
    const isHonest = mirrors !== 'several';
    this.at = at;
    this.kind = kind;
    this.manner = {
      paging: isHonest || random.chance(0.75) ? 'keyset' : 'offset',
      hasTotals: isHonest || random.chance(0.8),
      hasClock: isHonest || random.chance(0.85),
      hasTwins: random.chance(0.5),
      liesOften: !isHonest && random.chance(0.6) ? 0.12 : 0,
      lies: LIES,
      ...manner,
    };
    this.canTrustIncrementals = this.manner.liesOften === 0 && this.manner.paging === 'keyset';
    this.hasClockTrouble = !isHonest && random.chance(0.2);
    const happened = (what: string): void => this.count(what);
    const nested = (['class-students', 'afterschool-users'] as const).filter(() => random.chance(0.6));
    const hasAbsences = mirrors === 'sound' || mirrors === 'contradictory';
    const plain = isHonest ? (['users'] as const) : (['users', 'classes', ...nested] as const);
    this.collections = hasAbsences ? ['absence-versions'] : plain;
    this.hub = new TenantHub(at, 'o', this.collections, happened);
    this.foreign = new TenantHub(at, 'f', this.collections, () => undefined);
    this.client = new HubClient(at, this.hub, this.manner, happened);
    this.broker = new Broker(at, happened);
    this.redis = new TenantRedis(at);
    if (!hasAbsences) return;
    const { broker, redis, hub } = this;
    this.absences = new MirroredAbsences(at, mirrors, { broker, redis, history: hub.history });
    hub.absences = this.absences.hub;
  }

  /** The afterschools that the configuration of a process names, by its number. */
  afterschoolsOf(process: number): readonly string[] {
    return this.afterschools[process] ?? this.afterschools.at(-1) ?? [];
  }

  count(what: string, times = 1): void {
    this.happened.set(what, (this.happened.get(what) ?? 0) + times);
  }
}
