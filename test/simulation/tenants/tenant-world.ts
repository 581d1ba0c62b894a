import type { Hub } from '../../../src/hub/hub.ts';
import type { TenantLog } from '../../../src/log/log.ts';
import type { CollectionIndex, TenantState } from '../../../src/state/index-store.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import type { ChainsKind } from '../chains/chain-life.ts';
import type { CollectionName, TopicSuffix } from '../../../src/model/collections.ts';
import type { MirroredAbsences } from '../chains/mirrored-absences.ts';
import type { Surroundings } from '../parts/surroundings.ts';
import type { Broker } from './broker.ts';
import type { HubClient, HubManner } from './hub-client.ts';
import type { TenantHub } from './tenant-hub.ts';
import type { SimulatedProcess } from '../parts/simulated-process.ts';
import type { TenantRedis } from './tenant-redis.ts';

export interface TenantKind {
  /** One process at a time, each stopped before the next begins, or each taking over from the last. */
  readonly troubles: 'restarts' | 'take-overs' | 'lost-topics';
  /** Several collections of a hub that may lie; otherwise one of an honest hub, or absences with the chains of that kind. */
  readonly mirrors: 'several' | 'users' | ChainsKind;
}

/** A mistake put between the code under test and a simulated part, or in place of its parts. */
export interface TenantMistake {
  readonly hub?: (hub: Hub, world: TenantWorld) => Hub;
  readonly log?: (log: TenantLog, world: TenantWorld, process: number) => TenantLog;
  readonly index?: (index: CollectionIndex, name: CollectionName, world: TenantWorld) => CollectionIndex;
  readonly state?: (state: TenantState, world: TenantWorld) => TenantState;
  readonly parts?: (parts: Tenant, world: TenantWorld) => Tenant;
  readonly reusesProducer?: boolean;
  /** How much goes wrong, 0 to 1, so that the mistake shows best. */
  readonly trouble?: number;
  /** A hub with which the mistake shows. */
  readonly manner?: Partial<HubManner>;
  /** Whether other afterschools are named at the end; undefined: by chance. */
  readonly namesOthers?: boolean;
  /** The keys that a person approves, given the listed ones. */
  readonly approves?: (listed: ReadonlySet<string>, world: TenantWorld) => ReadonlySet<string>;
}

export interface TenantHistoryOptions {
  readonly seed: number;
  readonly kind: TenantKind;
  readonly mistake?: TenantMistake | undefined;
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

/** A mistake that the code under test could make, the kind of history to plant it in, and the problem that must be found. */
export interface SeededTenantMistake extends TenantMistake {
  readonly name: string;
  readonly kind: TenantKindName;
  readonly finds: string;
}

/** Mistakes of one kind of history, except those that name another. */
export function plantedIn(
  kind: TenantKindName,
  mistakes: readonly (Omit<SeededTenantMistake, 'kind'> & { readonly kind?: TenantKindName })[],
): readonly SeededTenantMistake[] {
  return mistakes.map((each) => Object.assign({ kind }, each));
}

export interface Approval {
  readonly collection: CollectionName;
  readonly keys: ReadonlySet<string>;
  readonly atMs: number;
}

export interface TenantWorld {
  readonly at: Surroundings;
  readonly hub: TenantHub;
  readonly client: HubClient;
  readonly broker: Broker;
  readonly redis: TenantRedis;
  readonly manner: HubManner;
  readonly collections: readonly CollectionName[];
  readonly processes: readonly SimulatedProcess[];
  /** When each process began, by the clock of the history. */
  readonly processStarts: readonly number[];
  /** When sessions of a process failed, by its number: what they had read is lost. */
  readonly failures: ReadonlyMap<number, readonly number[]>;
  /** Deletions that people have approved. */
  readonly approvals: readonly Approval[];
  /** The afterschools that the configuration of a process names, by its number. */
  afterschoolsOf(process: number): readonly string[];
  /** Topics that lost records, and the number of transactions by then. */
  readonly losses: readonly { readonly topic: TopicSuffix; readonly transactions: number }[];
  /** Whether clocks and hub were reliable all the time. */
  readonly canTrustDeltas: boolean;
  /** Null: they are not mirrored. */
  readonly absences: MirroredAbsences | null;
  /** Number of transactions when the hub was at rest and everything was read. */
  readonly quietSince: number;
  /** When full syncs began, by the clock of the history. */
  readonly fullStarts: ReadonlyMap<CollectionName, readonly number[]>;
  readonly happened: ReadonlyMap<string, number>;
}
