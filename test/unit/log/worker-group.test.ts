import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { RequestFor } from '../../../src/log/wire/kafka-broker.ts';
import { WorkerGroup } from '../../../src/log/worker-group.ts';
import { askedFor } from './support/asked-for.ts';

const SESSION_MS = 10_000;
const GRACE_MS = 500;

interface JoinRequest {
  readonly memberId: string;
  readonly groupProtocols: readonly [{ readonly metadata: Buffer }];
}
interface Joined {
  readonly memberId: string;
  readonly leaderId: string;
  readonly generationId: number;
  readonly members: readonly { readonly memberId: string; readonly memberMetadata: Buffer }[];
}
interface SyncRequest {
  readonly groupAssignment: readonly { readonly memberId: string; readonly memberAssignment: Buffer }[];
}

/** An error as kafkajs throws it for one of Kafka's protocol. */
const refused = (type: string): Error =>
  Object.assign(new Error(type), { name: 'KafkaJSProtocolError', type });

const groups: WorkerGroup[] = [];
beforeEach(() => void vi.useFakeTimers());
afterEach(async () => {
  const left = groups.splice(0).map((group) => group.leave());
  await vi.advanceTimersByTimeAsync(3_000);
  await Promise.all(left);
  vi.useRealTimers();
});

const never = (): Promise<never> => new Promise(() => undefined);

const AGAIN: Joined = { memberId: 'me', leaderId: 'another', generationId: 2, members: [] };

/** A worker whose coordinator answers as the test says; it gets `t0` and `t1` of its three tenants. */
function worker(sessionMs = SESSION_MS) {
  const coordinator = {
    joinGroup: vi.fn<(request: JoinRequest) => Promise<Joined>>(async ({ memberId }) => ({
      memberId: memberId === '' ? 'me' : memberId,
      leaderId: 'another',
      generationId: 1,
      members: [],
    })),
    syncGroup: vi.fn<(request: SyncRequest) => Promise<object>>(async () => ({
      memberAssignment: Buffer.from(JSON.stringify({ tenants: ['t0', 't1', 'unknown'] })),
    })),
    heartbeat: vi.fn<() => Promise<void>>(async () => undefined),
    leaveGroup: vi.fn<() => Promise<void>>(async () => undefined),
  };
  const answers: Readonly<Record<string, (request: never) => Promise<unknown>>> = {
    JoinGroup: coordinator.joinGroup,
    SyncGroup: coordinator.syncGroup,
    Heartbeat: coordinator.heartbeat,
    LeaveGroup: coordinator.leaveGroup,
  };
  const coordinatorOf = vi.fn<() => Promise<number>>(async () => 1);
  const ask = <Answer>(_: number, requestFor: RequestFor): Promise<Answer> => {
    const { name, options } = askedFor(requestFor);
    return answers[name]?.(options as never) as Promise<Answer>;
  };
  const events: string[] = [];
  const configured = ['t0', 't1', 't2'];
  const group = new WorkerGroup({
    kafka: { ask, coordinatorOf },
    groupId: 'p.workers',
    tenants: () => [...configured],
    sessionMs,
    revision: 'one',
    onAssigned: ({ tenants, isHandedOver }) =>
      events.push(`${isHandedOver ? 'handed over' : 'own'}: ${tenants.join()}`),
    onLost: ({ code }) => events.push(`lost: ${code}`),
    onTrouble: ({ code }) => events.push(`trouble: ${code}`),
    now: () => performance.now(),
    random: () => 0.5,
    sleep: (ms, signal) =>
      new Promise<void>((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason as Error);
        setTimeout(resolve, ms);
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      }),
  });
  groups.push(group);
  const metadata = () =>
    coordinator.joinGroup.mock.calls.map(([{ memberId, groupProtocols }]) => ({
      memberId,
      ...(JSON.parse(String(groupProtocols[0]?.metadata)) as { holds: string[]; knows: string[] }),
    }));
  const claims = () => metadata().map(({ memberId, holds }) => [memberId, holds]);
  /** Its next join makes it the leader of these members. */
  const leads = (...members: Joined['members']) =>
    coordinator.joinGroup.mockResolvedValueOnce({ memberId: 'me', leaderId: 'me', generationId: 1, members });
  return { coordinator, coordinatorOf, events, group, configured, metadata, claims, leads };
}

/** A member with the tenants that it holds and knows. */
const member = (memberId: string, holds: string[] = [], knows: string[] = ['t0', 't1', 't2']) => ({
  memberId,
  memberMetadata: Buffer.from(JSON.stringify({ holds, knows, revision: 'one' })),
});

async function joinedWorker() {
  const made = worker();
  await vi.advanceTimersByTimeAsync(0);
  return made;
}

const JOINED = 'handed over: t0,t1';
/** No other worker may have had them. */
const OWN = 'own: t0,t1';
const LOST = 'lost: KAFKA_UNREACHABLE';

it('a worker joins its group under the id that the coordinator has given it', async () => {
  const { coordinator, events, claims } = worker();
  const idRequired = Object.assign(new Error(), { name: 'KafkaJSMemberIdRequired', memberId: 'me' });
  coordinator.joinGroup.mockRejectedValueOnce(idRequired);
  await vi.advanceTimersByTimeAsync(0);
  expect(claims().map(([memberId]) => memberId)).toEqual(['', 'me']);
  expect(events).toEqual([JOINED]);
});

it('a new cluster has half a minute to set up its first group before a worker reports trouble', async () => {
  const { coordinator, events } = worker();
  coordinator.joinGroup.mockRejectedValue(refused('NOT_COORDINATOR_FOR_GROUP'));
  await vi.advanceTimersByTimeAsync(29_000);
  expect(events).toEqual([]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(events).toContain('trouble: KAFKA_UNREACHABLE');
});

it('the lease of a worker ends once in an outage, and resumes by a heartbeat, without a join', async () => {
  const { coordinator, coordinatorOf, events } = await joinedWorker();
  coordinator.heartbeat.mockRejectedValue(refused('NOT_COORDINATOR_FOR_GROUP'));
  await vi.advanceTimersByTimeAsync(8_000);
  expect(events).toEqual([JOINED]);
  await vi.advanceTimersByTimeAsync(3 * SESSION_MS);
  expect(events.slice(0, 3)).toEqual([JOINED, LOST, 'trouble: KAFKA_UNREACHABLE']);
  expect(events.filter((each) => each === LOST)).toHaveLength(1);
  coordinator.heartbeat.mockResolvedValue();
  await vi.advanceTimersByTimeAsync(2_500);
  expect(events.at(-1)).toBe(OWN);
  expect(coordinator.joinGroup).toHaveBeenCalledOnce();
  expect(coordinatorOf.mock.calls.length).toBeGreaterThan(2);
});

it('while workers rejoin, a lease ends twice kafka.session after the last answer of the group', async () => {
  const { coordinator, events, claims } = await joinedWorker();
  coordinator.heartbeat.mockRejectedValueOnce(refused('REBALANCE_IN_PROGRESS'));
  coordinator.joinGroup.mockRejectedValue(refused('GROUP_COORDINATOR_NOT_AVAILABLE'));
  // The first heartbeat is sent after two seconds.
  await vi.advanceTimersByTimeAsync(2_000 + 2 * SESSION_MS + GRACE_MS - 1);
  expect(events).toEqual([JOINED]);
  expect(claims().at(-1)).toEqual(['me', ['t0', 't1']]);
  await vi.advanceTimersByTimeAsync(1);
  expect(events).toEqual([JOINED, LOST]);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(claims().at(-1)).toEqual(['me', []]);
});

it('the lease of a worker is not renewed by an answer that takes as long as the lease', async () => {
  const { coordinator, events } = await joinedWorker();
  coordinator.heartbeat.mockImplementation(() => new Promise((resolve) => setTimeout(resolve, 9_000)));
  await vi.advanceTimersByTimeAsync(4 * SESSION_MS);
  expect(events).toEqual([JOINED, LOST]);
  coordinator.heartbeat.mockResolvedValue();
  await vi.advanceTimersByTimeAsync(9_000);
  expect(events).toEqual([JOINED, LOST, OWN]);
});

it('a lease that a rebalance has prolonged lasts as long as usual once the rebalance is over', async () => {
  const { coordinator, events } = await joinedWorker();
  const joining = Promise.withResolvers<Joined>();
  const rebalance = refused('REBALANCE_IN_PROGRESS');
  coordinator.heartbeat.mockRejectedValueOnce(rebalance).mockRejectedValueOnce(rebalance);
  coordinator.heartbeat.mockResolvedValueOnce().mockRejectedValue(refused('NOT_COORDINATOR_FOR_GROUP'));
  coordinator.joinGroup.mockReturnValueOnce(joining.promise);
  await vi.advanceTimersByTimeAsync(0.9 * SESSION_MS);
  joining.resolve(AGAIN);
  await vi.advanceTimersByTimeAsync(SESSION_MS);
  expect(events).toEqual([JOINED, JOINED, LOST, 'trouble: KAFKA_UNREACHABLE']);
});

it('the lease of a worker is renewed five times in a session', async () => {
  const { coordinator } = worker(6_000);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(coordinator.heartbeat).toHaveBeenCalledTimes(1 + 5);
});

it('the lease of a worker that was alone ends if it cannot join again when another worker joins', async () => {
  const { coordinator, events, leads } = worker();
  leads(member('me'));
  coordinator.heartbeat.mockResolvedValueOnce().mockRejectedValueOnce(refused('REBALANCE_IN_PROGRESS'));
  coordinator.joinGroup.mockRejectedValue(refused('GROUP_COORDINATOR_NOT_AVAILABLE'));
  await vi.advanceTimersByTimeAsync(2_000 + 2 * SESSION_MS + GRACE_MS);
  expect(events).toEqual([OWN, LOST]);
});

it('a worker that the coordinator no longer knows stops its tenants, and joins as a new member', async () => {
  const { coordinator, events, claims } = await joinedWorker();
  coordinator.heartbeat.mockRejectedValueOnce(refused('UNKNOWN_MEMBER_ID'));
  await vi.advanceTimersByTimeAsync(2_100);
  expect(events).toEqual([JOINED, LOST, JOINED]);
  expect(claims().flat(2)).toEqual(['', '']);
});

it('a worker that loses the right to its group stops its tenants after its session, and says why', async () => {
  const { coordinator, coordinatorOf, events } = await joinedWorker();
  coordinator.heartbeat.mockRejectedValue(refused('GROUP_AUTHORIZATION_FAILED'));
  coordinatorOf.mockRejectedValue(refused('GROUP_AUTHORIZATION_FAILED'));
  await vi.advanceTimersByTimeAsync(2 * SESSION_MS);
  expect([...new Set(events)]).toEqual([JOINED, LOST, 'trouble: KAFKA_REFUSED']);
});

it('a worker that is alone keeps its tenants, however long nothing confirms its membership', async () => {
  const { coordinator, events, leads } = worker();
  leads(member('me'));
  await vi.advanceTimersByTimeAsync(0);
  coordinator.heartbeat.mockRejectedValue(refused('NOT_COORDINATOR_FOR_GROUP'));
  await vi.advanceTimersByTimeAsync(3 * SESSION_MS);
  coordinator.heartbeat.mockResolvedValue();
  await vi.advanceTimersByTimeAsync(SESSION_MS);
  expect(events).toEqual([OWN]);
});

it('a worker that ends during its first join leaves under the id that the join brings', async () => {
  const { coordinator, group } = worker();
  const joining = Promise.withResolvers<Joined>();
  coordinator.joinGroup.mockReturnValue(joining.promise);
  await vi.advanceTimersByTimeAsync(0);
  const left = group.leave();
  joining.resolve(AGAIN);
  await left;
  expect(coordinator.leaveGroup).toHaveBeenCalledWith({ groupId: 'p.workers', memberId: 'me' });
});

it('a worker leaves its group within three seconds even if the broker hangs', async () => {
  const { coordinator, group } = await joinedWorker();
  coordinator.leaveGroup.mockImplementation(never);
  const left = vi.fn<() => void>();
  void group.leave().then(left);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(left).toHaveBeenCalledOnce();
  expect(coordinator.leaveGroup).toHaveBeenCalledWith({ groupId: 'p.workers', memberId: 'me' });
});

it('a worker whose configuration has changed joins again at once, and keeps its tenants meanwhile', async () => {
  const { coordinator, events, group, configured, metadata } = await joinedWorker();
  configured.splice(0, 3, 't1', 't2', 't3');
  const joining = Promise.withResolvers<Joined>();
  coordinator.joinGroup.mockReturnValueOnce(joining.promise);
  group.rejoin();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(metadata().at(-1)).toEqual({
    memberId: 'me',
    holds: ['t0', 't1'],
    knows: ['t1', 't2', 't3'],
    revision: 'one',
  });
  // The others may wait a session for one that is gone.
  await vi.advanceTimersByTimeAsync(SESSION_MS);
  expect(events).toEqual([JOINED]);
  joining.resolve(AGAIN);
  await vi.advanceTimersByTimeAsync(SESSION_MS);
  // What it does not know any more it does not begin, no matter who assigned it.
  expect(events).toEqual([JOINED, 'handed over: t1']);
  expect(coordinator.joinGroup).toHaveBeenCalledTimes(2);
});

it('a worker joins once more if its configuration has changed while it joined', async () => {
  const { coordinator, group, configured, metadata } = worker();
  coordinator.syncGroup.mockImplementationOnce(async () => {
    configured.push('t3');
    group.rejoin();
    return { memberAssignment: Buffer.from(JSON.stringify({ tenants: ['t0'] })) };
  });
  await vi.advanceTimersByTimeAsync(2_000);
  expect(metadata().map(({ knows }) => knows.length)).toEqual([3, 4]);
});

it('the metadata of a worker group fits into one record, even with 1,000 tenants and ten workers', async () => {
  const { configured, metadata } = worker();
  configured.splice(0, 3, ...Array.from({ length: 1_000 }, (_, index) => `${index}`.padStart(40, 'x')));
  await vi.advanceTimersByTimeAsync(0);
  const namesBytes = Buffer.byteLength(JSON.stringify(metadata()[0]?.knows));
  // What each knows; and, of all together, what they hold and what is assigned to them.
  expect((10 + 2) * namesBytes).toBeLessThan(1_000_000);
});

it('the leader of a group shares out all tenants that a worker knows', async () => {
  const { coordinator, leads } = worker();
  leads(member('me'), member('other', ['t0', 't1', 'theirs', 'gone'], ['t0', 't1', 'theirs']));
  await vi.advanceTimersByTimeAsync(0);
  const given = coordinator.syncGroup.mock.calls[0]?.[0].groupAssignment.map(
    ({ memberId, memberAssignment }) => [memberId, JSON.parse(String(memberAssignment)) as object],
  );
  expect(Object.fromEntries(given ?? [])).toEqual({
    other: { tenants: ['t0', 'theirs'] },
    me: { tenants: ['t1', 't2'] },
  });
});
