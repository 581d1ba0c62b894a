import type { VirtualTime } from '../parts/virtual-time.ts';

export interface JoinRequest {
  readonly memberId: string;
  readonly sessionTimeout: number;
  readonly rebalanceTimeout: number;
  readonly groupProtocols: readonly [{ readonly metadata: Buffer }];
}

export interface Joined {
  readonly memberId: string;
  readonly leaderId: string;
  readonly generationId: number;
  /** Empty for all but the leader. */
  readonly members: readonly { readonly memberId: string; readonly memberMetadata: Buffer }[];
}

export interface SyncRequest {
  readonly memberId: string;
  readonly generationId: number;
  readonly groupAssignment: readonly { readonly memberId: string; readonly memberAssignment: Buffer }[];
}

export interface HeartbeatRequest {
  readonly memberId: string;
  readonly groupGenerationId: number;
}

interface Member {
  readonly id: string;
  metadata: Buffer;
  assignment: Buffer;
  readonly sessionMs: number;
  /** Counts what proves that it lives: a session ends if nothing came since it began. */
  signs: number;
  join: PromiseWithResolvers<Joined> | null;
  sync: PromiseWithResolvers<Buffer> | null;
}

/** An error as kafkajs throws it for one of Kafka's protocol; `type` is the name there. */
export function refused(type: string): Error {
  return Object.assign(new Error(type), { name: 'KafkaJSProtocolError', type });
}

const NONE = Buffer.alloc(0);

/**
 * A group of Kafka's classic protocol, by the rules of its coordinator: a barrier of JoinGroup with a time-out, generations,
 * sessions, SyncGroup through a leader; and another broker that continues with what was stored when the last SyncGroup ended.
 */
export class GroupCoordinator {
  /** Called with the metadata of all members, and what their leader gives to each. */
  onShared: (metadata: ReadonlyMap<string, Buffer>, shares: SyncRequest['groupAssignment']) => void = () =>
    undefined;
  readonly #time: VirtualTime;
  readonly #initialDelayMs: number;
  #members = new Map<string, Member>();
  /** Ids that were given, but that have not joined. */
  readonly #promised = new Set<string>();
  #stored: { generation: number; leader: string; members: readonly Member[] };
  #state: 'empty' | 'joining' | 'syncing' | 'stable' = 'empty';
  #generation = 0;
  #leader = '';
  #barriers = 0;
  #isFirstBarrier = false;
  #ids = 0;
  #broker = 1;
  #loadedAtMs = 0;

  /** `initialDelayMs`: as in the broker's setting, for the first member of an empty group. */
  constructor(time: VirtualTime, initialDelayMs: number) {
    this.#time = time;
    this.#initialDelayMs = initialDelayMs;
    this.#stored = { generation: 0, leader: '', members: [] };
  }

  get generation(): number {
    return this.#generation;
  }

  /** The broker that coordinates the group; requests to another one are refused. */
  get broker(): number {
    return this.#broker;
  }

  /** The time until it answers; zero or less: it does. */
  get answersInMs(): number {
    return this.#loadedAtMs - this.#time.now();
  }

  requireAt(broker: number): void {
    if (broker !== this.#broker) throw refused('NOT_COORDINATOR_FOR_GROUP');
    if (this.answersInMs > 0) throw refused('GROUP_LOAD_IN_PROGRESS');
  }

  /** Another broker coordinates the group from now on, and answers after the time. */
  move(loadsMs: number): void {
    for (const { join, sync } of this.#members.values())
      for (const waits of [join, sync]) waits?.reject(refused('NOT_COORDINATOR_FOR_GROUP'));
    this.#broker += 1;
    this.#barriers += 1;
    this.#loadedAtMs = this.#time.now() + loadsMs;
    this.#promised.clear();
    const { generation, leader, members } = this.#stored;
    this.#generation = generation;
    this.#leader = leader;
    this.#members = new Map(members.map((member) => [member.id, { ...member, join: null, sync: null }]));
    this.#state = this.#members.size === 0 ? 'empty' : 'stable';
    for (const member of this.#members.values()) this.#sign(member, loadsMs);
  }

  /** A first join without an id is answered with one (KIP-394). */
  promise(sessionMs: number): string {
    this.#ids += 1;
    // Their order is not that of the joins.
    const id = `m${(this.#ids * 7_919) % 10_007}`;
    this.#promised.add(id);
    void this.#later(sessionMs, () => {
      if (this.#promised.delete(id)) this.#completeIfAllJoined();
    });
    return id;
  }

  async join({ memberId, sessionTimeout, rebalanceTimeout, groupProtocols }: JoinRequest): Promise<Joined> {
    const [{ metadata }] = groupProtocols;
    const known = this.#members.get(memberId);
    if (known === undefined && !this.#promised.delete(memberId)) throw refused('UNKNOWN_MEMBER_ID');
    const member: Member = known ?? {
      id: memberId,
      metadata,
      assignment: NONE,
      sessionMs: sessionTimeout,
      signs: 0,
      join: null,
      sync: null,
    };
    const isNews = known === undefined || !known.metadata.equals(metadata);
    const isLeader = memberId === this.#leader;
    // It may have missed the answer of the last join.
    if (!isNews && (this.#state === 'syncing' || (this.#state === 'stable' && !isLeader)))
      return this.#joined(member);
    this.#members.set(memberId, member);
    member.metadata = metadata;
    member.join = Promise.withResolvers();
    const { promise } = member.join;
    if (this.#state === 'joining') this.#completeIfAllJoined();
    else this.#begin(rebalanceTimeout);
    return promise;
  }

  async sync({ memberId, generationId, groupAssignment }: SyncRequest): Promise<Buffer> {
    const member = this.#known(memberId, generationId);
    if (this.#state === 'joining') throw refused('REBALANCE_IN_PROGRESS');
    this.#sign(member);
    if (this.#state === 'stable') return member.assignment;
    member.sync = Promise.withResolvers();
    const { promise } = member.sync;
    if (memberId === this.#leader) this.#share(groupAssignment);
    return promise;
  }

  heartbeat({ memberId, groupGenerationId }: HeartbeatRequest): void {
    this.#sign(this.#known(memberId, groupGenerationId));
    if (this.#state === 'joining') throw refused('REBALANCE_IN_PROGRESS');
  }

  leave(memberId: string): void {
    const member = this.#known(memberId, this.#generation);
    for (const waits of [member.join, member.sync]) waits?.reject(refused('UNKNOWN_MEMBER_ID'));
    this.#remove(member);
  }

  #known(memberId: string, generation: number): Member {
    const member = this.#members.get(memberId);
    if (member === undefined) throw refused('UNKNOWN_MEMBER_ID');
    if (generation !== this.#generation) throw refused('ILLEGAL_GENERATION');
    return member;
  }

  /** Its session begins anew. While it waits for an answer it does not end. */
  #sign(member: Member, laterMs = 0): void {
    member.signs += 1;
    const { signs, id, sessionMs } = member;
    void this.#later(sessionMs + laterMs, () => {
      if (member.signs !== signs || this.#members.get(id) !== member) return;
      if (member.join === null && member.sync === null) this.#remove(member);
    });
  }

  #remove({ id, sessionMs }: Member): void {
    this.#members.delete(id);
    if (this.#state === 'joining') this.#completeIfAllJoined();
    else this.#begin(sessionMs);
  }

  #begin(rebalanceMs: number): void {
    this.#isFirstBarrier = this.#state === 'empty';
    this.#state = 'joining';
    for (const member of this.#members.values()) {
      if (member.sync === null) continue;
      member.sync.reject(refused('REBALANCE_IN_PROGRESS'));
      member.sync = null;
      this.#sign(member);
    }
    this.#barriers += 1;
    const barrier = this.#barriers;
    void this.#later(this.#isFirstBarrier ? this.#initialDelayMs : rebalanceMs, () => {
      if (this.#barriers === barrier) this.#complete();
    });
    this.#completeIfAllJoined();
  }

  #completeIfAllJoined(): void {
    if (this.#state !== 'joining' || this.#isFirstBarrier || this.#promised.size > 0) return;
    if (this.#members.values().every(({ join }) => join !== null)) this.#complete();
  }

  #complete(): void {
    this.#barriers += 1;
    this.#generation += 1;
    for (const { id, join } of this.#members.values()) if (join === null) this.#members.delete(id);
    if (!this.#members.has(this.#leader)) this.#leader = this.#members.keys().next().value ?? '';
    this.#state = this.#members.size === 0 ? 'empty' : 'syncing';
    if (this.#state === 'empty') this.#store();
    for (const member of this.#members.values()) {
      member.join?.resolve(this.#joined(member));
      member.join = null;
      member.assignment = NONE;
      this.#sign(member);
    }
  }

  #joined({ id }: Member): Joined {
    const members = this.#members.values().map((each) => ({
      memberId: each.id,
      memberMetadata: each.metadata,
    }));
    return {
      memberId: id,
      leaderId: this.#leader,
      generationId: this.#generation,
      members: id === this.#leader ? [...members] : [],
    };
  }

  #share(shares: SyncRequest['groupAssignment']): void {
    this.onShared(new Map(this.#members.values().map(({ id, metadata }) => [id, metadata])), shares);
    this.#state = 'stable';
    for (const member of this.#members.values()) {
      member.assignment = shares.find(({ memberId }) => memberId === member.id)?.memberAssignment ?? NONE;
      member.sync?.resolve(member.assignment);
      if (member.sync !== null) this.#sign(member);
      member.sync = null;
    }
    this.#store();
  }

  async #later(ms: number, work: () => void): Promise<void> {
    await this.#time.sleep(ms);
    work();
  }

  #store(): void {
    const members = [...this.#members.values()].map((member) => Object.assign({}, member));
    this.#stored = { generation: this.#generation, leader: this.#leader, members };
  }
}
