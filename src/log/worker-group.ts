import { assign } from '../core/assignment.ts';
import { RollcallError } from '../errors.ts';
import { jitteredPauseMs, type Backoff } from '../backoff.ts';
import { request } from './wire/kafka-broker.ts';
import type { KafkaConnections } from './wire/kafka-connections.ts';
import { kafkaError } from './kafka-errors.ts';
import { innermost } from './kafka-failure.ts';
import { jsonObject } from './progress-codec.ts';

/** What a worker is to mirror from now on. */
export interface Assignment {
  readonly tenants: readonly string[];
  /** Whether another worker may have held some of them until now, and may still be ending its last transaction. */
  readonly isHandedOver: boolean;
}

export interface WorkerGroupOptions {
  readonly kafka: Pick<KafkaConnections, 'ask' | 'coordinatorOf'>;
  readonly groupId: string;
  /** The tenants of this process's configuration, which may change. */
  readonly tenants: () => readonly string[];
  readonly sessionMs: number;
  /** The revision of the deployment of this process: see {@link assign}. */
  readonly revision: string;
  readonly onAssigned: (assignment: Assignment) => void;
  /** Called when the tenants may be another worker's by now: stop them. The next call is `onAssigned`, or `onTrouble`. */
  readonly onLost: (why: RollcallError) => void;
  /** The process has no assignment, for this reason, and tries again. The next call of `onAssigned` ends this. */
  readonly onTrouble: (why: RollcallError) => void;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  readonly random: () => number;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

interface JoinedGroup {
  readonly memberId: string;
  readonly leaderId: string;
  readonly generationId: number;
  /** The members of the group; empty in the answer to a member that is not the leader. */
  readonly members: readonly { readonly memberId: string; readonly memberMetadata: Buffer }[];
}

/** The type that Kafka keeps for the group: no consumer can join it by mistake. */
const PROTOCOL_TYPE = 'rollcall';
/**
 * The name under which the group knows the way in which {@link assign} assigns tenants. If a later version assigns
 * tenants in another way, it must also offer this name. Otherwise it cannot join a group that has members of this
 * version.
 */
const PROTOCOL = 'sticky';
const HEARTBEATS_IN_SESSION = 5;
const LONGEST_HEARTBEAT_MS = 2_000;
/**
 * The lease ends this long before the membership can time out (`kafka.session`). With the grace after it, one second is
 * left until Kafka may give the tenants to another worker.
 */
const LEASE_MARGIN_MS = 1_500;
/** A busy process gets this much more time to read an answer that has already come. */
const GRACE_MS = 500;
const RETRY: Backoff = { firstMs: 500, longestMs: 2_000 };
/** The answers of Kafka while a new cluster creates its topic for groups, or while a coordinator loads the groups. */
const COORDINATOR_COMES = /COORDINATOR_NOT_AVAILABLE|LOAD_IN_PROGRESS|NOT_COORDINATOR/;
const COMES_WITHIN_MS = 30_000;
const LEAVE_WITHIN_MS = 2_000;

/**
 * The membership of this process in the group of the workers that share the tenants of a configuration. Kafka's
 * coordinator keeps the members and picks a leader, which assigns the tenants.
 *
 * It does not use the consumer of kafkajs. After a failure, that consumer joins as a new member, and the group then
 * waits until the old member times out (`kafka.session`). This membership keeps its id when a coordinator dies or
 * moves.
 *
 * The membership only saves work. The transactional producer ensures that each tenant has one writer (invariant 7).
 */
export class WorkerGroup {
  readonly #options: WorkerGroupOptions;
  readonly #heartbeatMs: number;
  readonly #ending = new AbortController();
  readonly #staying: Promise<void>;
  /** The node id of the group's coordinator. */
  #coordinator: number | null = null;
  #memberId = '';
  #generation = -1;
  /** The tenants of this process in the last assignment. */
  #tenants: readonly string[] = [];
  /** True if the tenants in this process's configuration are no longer those that the group knows. */
  #isOutdated = false;
  /** Whether the process mirrors the tenants: false while the lease is over. */
  #isHolding = false;
  /** True if nobody else was in the group, so that no other worker has been given the tenants. Then the lease does not end by time. */
  #isAlone = false;
  /** Until this time no other worker has the tenants. */
  #leaseUntilMs = 0;
  /** When the last request was sent whose answer shows that the coordinator knows this member. */
  #askedAtMs = 0;

  /** Begins to join the group. The object stays a member, or tries to become one, until {@link leave}. */
  constructor(options: WorkerGroupOptions) {
    this.#options = options;
    this.#heartbeatMs = Math.min(LONGEST_HEARTBEAT_MS, options.sessionMs / HEARTBEATS_IN_SESSION);
    this.#staying = this.#stayMember();
    void this.#watchLease();
  }

  /** Has the tenants assigned again, because the tenants of the configuration have changed. Takes effect with the next heartbeat. */
  rejoin(): void {
    this.#isOutdated = true;
  }

  /** Lets the other workers take over at once. Takes at most four seconds, even if no broker answers. Never rejects. */
  async leave(): Promise<void> {
    this.#ending.abort();
    // The first join brings the id with which to leave.
    if (this.#memberId === '') await this.#within(LEAVE_WITHIN_MS, this.#staying);
    if (this.#memberId !== '' && this.#coordinator !== null)
      await this.#within(LEAVE_WITHIN_MS, this.#ask('LeaveGroup', { memberId: this.#memberId }));
  }

  async #stayMember(): Promise<void> {
    const { groupId, onTrouble, sleep, random, now } = this.#options;
    const { signal } = this.#ending;
    let isMember = false;
    let failures = 0;
    const begunAtMs = now();
    for (let waitMs = 0; ;) {
      await sleep(waitMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      try {
        this.#coordinator ??= await this.#options.kafka.coordinatorOf(groupId, 'group');
        if (signal.aborted) return;
        if (isMember && this.#isOutdated) {
          isMember = false;
          this.#awaitOthers();
        }
        await (isMember ? this.#heartbeat(null) : this.#join());
        isMember = true;
        failures = 0;
        waitMs = this.#heartbeatMs;
      } catch (error) {
        if (signal.aborted) return;
        const { type } = innermost(error);
        waitMs = 0;
        if (type === 'REBALANCE_IN_PROGRESS') {
          isMember = false;
          // Another worker has joined. It may be given the tenants without any further notice.
          this.#isAlone = false;
          this.#awaitOthers();
        } else if (type === 'UNKNOWN_MEMBER_ID' || type === 'ILLEGAL_GENERATION') {
          isMember = false;
          if (type === 'UNKNOWN_MEMBER_ID') this.#memberId = '';
          this.#lose();
        } else {
          // The coordinator has moved, or cannot be reached. The membership stays until a coordinator says otherwise.
          failures += 1;
          waitMs = jitteredPauseMs(RETRY, failures, random);
          this.#coordinator = null;
          this.#askedAtMs = -Infinity;
          const mayCome = now() - begunAtMs < COMES_WITHIN_MS && COORDINATOR_COMES.test(type ?? '');
          if (!this.#isHolding && !(this.#memberId === '' && mayCome))
            onTrouble(kafkaError(error, `joining the group ${groupId}`));
        }
      }
    }
  }

  /** Uses a connection of its own, because the membership ends if an answer comes late. */
  #ask<Answer>(name: string, options: object): Promise<Answer> {
    const { kafka, groupId } = this.#options;
    // No broker has the node id -1.
    return kafka.ask<Answer>(this.#coordinator ?? -1, request(name, { groupId, ...options }), 'membership');
  }

  async #join(): Promise<void> {
    const { sessionMs, tenants, revision } = this.#options;
    const claim = { holds: this.#isHolding ? this.#tenants : [], knows: tenants(), revision };
    this.#isOutdated = false;
    const join = (memberId: string): Promise<JoinedGroup> =>
      this.#ask('JoinGroup', {
        sessionTimeout: sessionMs,
        rebalanceTimeout: sessionMs,
        memberId,
        protocolType: PROTOCOL_TYPE,
        groupProtocols: [{ name: PROTOCOL, metadata: encoded(claim) }],
      });
    // A coordinator first gives a new member its id (KIP-394).
    const joined = await join(this.#memberId).catch((error: { name: string; memberId: string }) => {
      if (error.name !== 'KafkaJSMemberIdRequired') throw error;
      return join(error.memberId);
    });
    this.#isAlone = joined.members.length === 1;
    this.#memberId = joined.memberId;
    this.#generation = joined.generationId;
    this.#askedAtMs = this.#options.now();
    this.#awaitOthers();
    const { memberAssignment } = await this.#ask<{ memberAssignment: Buffer }>('SyncGroup', {
      generationId: joined.generationId,
      memberId: joined.memberId,
      groupAssignment: joined.leaderId === joined.memberId ? this.#shares(joined) : [],
    });
    await this.#heartbeat(listOf(memberAssignment, 'tenants'));
  }

  /**
   * Extends the lease, because the coordinator knows this member. The coordinator may wait until a dead member times
   * out (`kafka.session`), and only then does the time of this member begin.
   */
  #awaitOthers(): void {
    this.#leaseUntilMs = Math.max(this.#leaseUntilMs, this.#askedAtMs + 2 * this.#options.sessionMs);
  }

  /**
   * Renews the lease. Then it takes up the tenants of a new assignment, or, after the lease was over, those of the last
   * one.
   */
  async #heartbeat(assigned: readonly string[] | null): Promise<void> {
    const { sessionMs, now, onAssigned } = this.#options;
    do {
      this.#askedAtMs = now();
      await this.#ask('Heartbeat', { groupGenerationId: this.#generation, memberId: this.#memberId });
      this.#leaseUntilMs = this.#askedAtMs + sessionMs - LEASE_MARGIN_MS;
      // If the answer has come so late that the lease might end before it is next checked, this asks again.
    } while (this.#leaseUntilMs <= now() + this.#heartbeatMs);
    if (this.#ending.signal.aborted || (assigned === null && this.#isHolding)) return;
    // Without a new assignment, the generation is still that from before the lease ended, so no other worker has been
    // given the tenants since.
    const known = new Set(this.#options.tenants());
    // The configuration may have changed since the group learned what this process knows.
    this.#tenants = (assigned ?? this.#tenants).filter((tenant) => known.has(tenant));
    this.#isHolding = true;
    onAssigned({ tenants: this.#tenants, isHandedOver: assigned !== null && !this.#isAlone });
  }

  /** The leader's part: what each member is to mirror. */
  #shares({ members }: JoinedGroup): readonly object[] {
    const claims = members.map(({ memberId, memberMetadata }) => ({
      id: memberId,
      holds: listOf(memberMetadata, 'holds'),
      knows: listOf(memberMetadata, 'knows'),
      revision: String(fieldsOf(memberMetadata)['revision']),
    }));
    return [...assign(claims)].map(([memberId, tenants]) => ({
      memberId,
      memberAssignment: encoded({ tenants }),
    }));
  }

  async #watchLease(): Promise<void> {
    const { now, sleep } = this.#options;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      const leftMs = this.#isHolding ? this.#leaseUntilMs - now() : this.#heartbeatMs;
      // The lease may have become shorter meanwhile, because a rebalance has ended.
      await sleep(leftMs > 0 ? Math.min(leftMs, this.#heartbeatMs) : GRACE_MS, signal).catch(() => undefined);
      if (leftMs <= 0 && this.#leaseUntilMs <= now() && !this.#isAlone) this.#lose();
    }
  }

  #lose(): void {
    if (!this.#isHolding) return;
    this.#isHolding = false;
    this.#options.onLost(notConfirmed(this.#options.groupId));
  }

  /** Waits for a request, whatever its outcome, but not longer than this time. */
  async #within(ms: number, request: Promise<unknown> | undefined): Promise<void> {
    const over = new AbortController();
    const limit = this.#options.sleep(ms, over.signal);
    await Promise.race([request, limit]).catch(() => undefined);
    over.abort();
    await limit.catch(() => undefined);
  }
}

function notConfirmed(groupId: string): RollcallError {
  const what = `Kafka has not confirmed the membership of this process in ${groupId} in time: the process has stopped its tenants, and other processes may take them over`;
  return new RollcallError('KAFKA_UNREACHABLE', what, {
    remedy:
      'Check that the brokers are up, and that this process was not suspended. If the machine is too busy, set a larger kafka.session. The process joins again by itself.',
  });
}

function encoded(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** The fields of the JSON that another worker, perhaps of another version, has written; none if it is not JSON. */
function fieldsOf(bytes: Buffer): Readonly<Record<string, unknown>> {
  return jsonObject<Readonly<Record<string, unknown>>>(bytes) ?? {};
}

/** A list of names; empty if there is no list. */
function listOf(bytes: Buffer, field: string): readonly string[] {
  const { [field]: list } = fieldsOf(bytes);
  return Array.isArray(list) ? list.filter((each) => typeof each === 'string') : [];
}
