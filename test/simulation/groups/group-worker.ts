import type { Kafka, PartitionAssigner } from 'kafkajs';
import { WorkerGroup } from '../../../src/log/worker-group.ts';
import type { SeededRandom } from '../parts/seeded-random.ts';
import type { VirtualTime } from '../parts/virtual-time.ts';
import {
  refused,
  type GroupCoordinator,
  type HeartbeatRequest,
  type Joined,
  type JoinRequest,
  type SyncRequest,
} from './group-coordinator.ts';
import type { TenantWriters } from './tenant-writers.ts';

/** What a worker uses of a broker of kafkajs. */
export interface BrokerStub {
  readonly joinGroup: (request: JoinRequest) => Promise<Joined>;
  readonly syncGroup: (request: SyncRequest) => Promise<{ readonly memberAssignment: Buffer }>;
  readonly heartbeat: (request: HeartbeatRequest) => Promise<void>;
  readonly leaveGroup: (request: { readonly memberId: string }) => Promise<void>;
}

/** A mistake that the code under test could make. */
export interface GroupMistake {
  readonly broker?: (broker: BrokerStub, worker: GroupWorker) => Partial<BrokerStub>;
  /** It mirrors on when its lease is over. */
  readonly ignoresLost?: boolean;
  /** Kafka accepts what an older writer of a tenant commits. */
  readonly isUnfenced?: boolean;
}

export interface GroupWorld {
  readonly time: VirtualTime;
  readonly random: SeededRandom;
  readonly coordinator: GroupCoordinator;
  readonly writers: TenantWriters;
  readonly tenants: readonly string[];
  readonly mistake: GroupMistake;
  /** Resolves when the network is well for good: what hangs then fails at once. */
  readonly mended: PromiseWithResolvers<void>;
  readonly problems: Set<string>;
  readonly happened: Map<string, number>;
}

/** `hangs`: no packet arrives, and nobody is told; `cut`: every request fails. */
export type Link = 'well' | 'cut' | 'hangs';

export const SESSION_MS = 6_000;
export const HEARTBEAT_MS = 1_200;
const LONGEST_ON_THE_WAY_MS = 20;
const REQUEST_TIMEOUT_MS = 15_000;
const BARRIER_TIMEOUT_MS = SESSION_MS + 5_000;
/** The lease, and the grace after it. */
const LEASE_MS = SESSION_MS - 1_000;
/** Its watch may have to wait once more for the grace. */
const LEASE_NOTICED_MS = 600;
const AFTER_ANOTHER_MS = 750;

export function count(happened: Map<string, number>, what: string): void {
  happened.set(what, (happened.get(what) ?? 0) + 1);
}

/** A process with a real {@link WorkerGroup}, among simulated brokers. */
export class GroupWorker {
  readonly name: string;
  /** How far behind the worker's clock is, for a planted mistake. */
  behindMs = 0;
  /** What it believes to be its own. */
  holds: readonly string[] = [];
  /** What it was given last, whether or not it is its own still. */
  given: readonly string[] = [];
  #link: Link = 'well';
  #lateMs = 0;
  readonly #world: GroupWorld;
  readonly #group: WorkerGroup;
  readonly #places = new Map<string, AbortController>();
  #fate: 'running' | 'frozen' | 'dead' | 'leaving' = 'running';
  #thawed = Promise.withResolvers<void>();
  #awakeSinceMs = 0;
  /** By what the coordinator answered, it may mirror its tenants until then. */
  #confirmedUntilMs = 0;

  constructor(name: string, world: GroupWorld) {
    this.name = name;
    this.#world = world;
    const { random, tenants } = world;
    this.#group = new WorkerGroup({
      kafka: { consumer: handingOut(this.#cluster()) } as unknown as Pick<Kafka, 'consumer'>,
      groupId: 'p.workers',
      tenants: () => tenants,
      sessionMs: SESSION_MS,
      revision: 'one',
      onAssigned: ({ tenants: assigned, moved }) => this.#take(assigned, moved),
      onLost: () => {
        count(world.happened, 'lease over');
        if (world.mistake.ignoresLost !== true) this.#take([], []);
      },
      onTrouble: () => undefined,
      now: this.now,
      random: () => random.next(),
      sleep: this.sleep,
    });
  }

  /** It computes: it is neither dead nor frozen. */
  get isAwake(): boolean {
    return this.#fate === 'running' || this.#fate === 'leaving';
  }

  /** It is to have its part of the tenants: it neither ends nor has ended. */
  get isStaying(): boolean {
    return this.#fate === 'running' || this.#fate === 'frozen';
  }

  /** Its own clock. */
  readonly now = (): number => this.#world.time.now() - this.behindMs;

  readonly sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    await this.#world.time.sleep(ms, signal);
    await this.awake();
  };

  /** Never resolves for a dead process. */
  async awake(): Promise<void> {
    while (!this.isAwake) await this.#thawed.promise;
  }

  get isConnected(): boolean {
    return this.#link === 'well';
  }

  /** `lateMs`: how much longer each answer of the coordinator takes. */
  disturb(link: Link, lateMs: number): void {
    this.#link = link;
    this.#lateMs = lateMs;
  }

  freeze(): void {
    if (this.#fate === 'running') this.#fate = 'frozen';
  }

  thaw(): void {
    if (this.#fate !== 'frozen') return;
    this.#fate = 'running';
    this.#awakeSinceMs = this.#world.time.now();
    this.#thawed.resolve();
    this.#thawed = Promise.withResolvers();
  }

  kill(): void {
    this.#fate = 'dead';
    this.holds = [];
  }

  /** As at SIGTERM: the tenants stop first. */
  async leave(): Promise<void> {
    if (this.#fate !== 'running') return;
    this.#fate = 'leaving';
    this.#take([], []);
    await this.#group.leave();
    this.kill();
  }

  /** Notes a tenant that it still mirrors although nothing has confirmed for a lease that it may. */
  check(): void {
    const { time, problems } = this.#world;
    if (!this.isAwake || this.holds.length === 0) return;
    if (time.now() > Math.max(this.#confirmedUntilMs, this.#awakeSinceMs) + LEASE_NOTICED_MS)
      problems.add('mirrors after its lease');
  }

  #take(assigned: readonly string[], moved: readonly string[]): void {
    if (this.#fate === 'leaving' && assigned.length > 0) return;
    this.holds = assigned;
    if (assigned.length > 0) this.given = assigned;
    for (const [tenant, ending] of this.#places)
      if (!assigned.includes(tenant)) {
        ending.abort();
        this.#places.delete(tenant);
      }
    for (const tenant of assigned) {
      if (this.#places.has(tenant)) continue;
      const ending = new AbortController();
      this.#places.set(tenant, ending);
      const pauseMs = moved.includes(tenant) ? AFTER_ANOTHER_MS : 0;
      void this.#world.writers.write(tenant, this, pauseMs, ending.signal);
    }
  }

  #cluster(): object {
    const { coordinator, mistake } = this.#world;
    const ask = async (): Promise<number> =>
      this.#exchange(() => coordinator.broker, { from: null, timeoutMs: REQUEST_TIMEOUT_MS });
    return {
      connect: async () => undefined,
      disconnect: async () => undefined,
      refreshMetadata: async () => undefined,
      findGroupCoordinator: async () => {
        const broker = this.#broker(await ask());
        return { ...broker, ...mistake.broker?.(broker, this) };
      },
    };
  }

  /** As kafkajs speaks to one broker. */
  #broker(from: number): BrokerStub {
    const { coordinator, problems } = this.#world;
    const within = (timeoutMs: number) => ({ from, timeoutMs });
    return {
      joinGroup: async (request) => {
        const { holds } = JSON.parse(String(request.groupProtocols[0].metadata)) as { holds: string[] };
        if (holds.some((tenant) => !this.holds.includes(tenant)))
          problems.add('claims what it does not mirror');
        const timing = within(BARRIER_TIMEOUT_MS);
        const memberId =
          request.memberId || (await this.#exchange(() => coordinator.promise(SESSION_MS), timing));
        const joined = await this.#exchange(() => coordinator.join({ ...request, memberId }), timing);
        this.#confirm(joined.members.length === 1 ? Infinity : this.#world.time.now() + 2 * SESSION_MS);
        return joined;
      },
      syncGroup: async (request) => {
        const asked = this.#exchange(() => coordinator.sync(request), within(REQUEST_TIMEOUT_MS));
        return { memberAssignment: await this.#noting(asked) };
      },
      heartbeat: async (request) => {
        const leaseEndsMs = this.#world.time.now() + LEASE_MS;
        await this.#noting(this.#exchange(() => coordinator.heartbeat(request), within(REQUEST_TIMEOUT_MS)));
        // A worker that is alone needs no confirmation.
        if (this.#confirmedUntilMs === Infinity) return;
        const looksAtMs = this.#world.time.now() + HEARTBEAT_MS;
        // An answer that is too late ends what a join has confirmed, as soon as the watch looks.
        this.#confirmedUntilMs = Math.max(leaseEndsMs, Math.min(this.#confirmedUntilMs, looksAtMs));
      },
      leaveGroup: async ({ memberId }) =>
        this.#exchange(() => coordinator.leave(memberId), within(REQUEST_TIMEOUT_MS)),
    };
  }

  #confirm(untilMs: number): void {
    this.#confirmedUntilMs =
      untilMs === Infinity || this.#confirmedUntilMs === Infinity
        ? untilMs
        : Math.max(this.#confirmedUntilMs, untilMs);
  }

  /** The others may wait for a dead member, and then for a dead leader. */
  async #noting<T>(request: Promise<T>): Promise<T> {
    const askedAtMs = this.#world.time.now();
    try {
      return await request;
    } catch (error) {
      const isRebalance = (error as Error).message === 'REBALANCE_IN_PROGRESS';
      if (isRebalance) this.#confirm(askedAtMs + 2 * SESSION_MS);
      throw error;
    }
  }

  async #exchange<T>(
    handle: () => T | Promise<T>,
    { from, timeoutMs }: { from: number | null; timeoutMs: number },
  ): Promise<T> {
    const { time, random, coordinator, mended } = this.#world;
    const onTheWay = () => time.sleep(1 + random.below(LONGEST_ON_THE_WAY_MS));
    const lost = async (ms: number): Promise<never> => {
      await Promise.race([time.sleep(ms), mended.promise]);
      throw new Error('KafkaJSRequestTimeoutError');
    };
    const arrives = async (): Promise<void> => {
      await onTheWay();
      if (this.#link === 'cut') throw new Error('KafkaJSConnectionError');
      if (this.#link === 'hangs') await lost(timeoutMs);
    };
    const answer = async (): Promise<T> => {
      await arrives();
      if (from !== null) coordinator.requireAt(from);
      const result = await handle();
      if (this.#lateMs > 0) await time.sleep(this.#lateMs);
      await arrives();
      return result;
    };
    try {
      return await Promise.race([answer(), timedOut(time, timeoutMs)]);
    } finally {
      await this.awake();
    }
  }
}

async function timedOut(time: VirtualTime, ms: number): Promise<never> {
  await time.sleep(ms);
  throw refused('REQUEST_TIMED_OUT');
}

/** kafkajs hands its cluster to every partition assigner. */
function handingOut(cluster: object) {
  return ({ partitionAssigners: [assigner] }: { partitionAssigners: [PartitionAssigner] }) =>
    assigner({ cluster } as never);
}
