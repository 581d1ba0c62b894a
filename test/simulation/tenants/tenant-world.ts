import type { CollectionName, TopicSuffix } from '../../../src/model/collections.ts';
import type { MirroredAbsences } from '../chains/mirrored-absences.ts';
import type { Surroundings } from '../parts/surroundings.ts';
import type { Broker } from './broker.ts';
import type { HubClient, HubManner } from './hub-client.ts';
import type { TenantHub } from './tenant-hub.ts';
import type { SimulatedProcess } from '../parts/simulated-process.ts';
import type { TenantRedis } from './tenant-redis.ts';

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
  /** Numbers of processes that were superseded and went on nevertheless. */
  readonly unnoticed: readonly number[];
  /** Deletions that people have approved. */
  readonly approvals: readonly Approval[];
  /** The afterschools that the configuration of a process names, by its number. */
  afterschoolsOf(process: number): readonly string[];
  /** Topics that lost records, and the number of transactions by then. */
  readonly losses: readonly { readonly topic: TopicSuffix; readonly transactions: number }[];
  /** Forbidden content of events; waits that were too short or too long. */
  readonly misbehaviour: readonly string[];
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
