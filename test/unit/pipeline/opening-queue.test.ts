import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { RollcallError, type ErrorCode } from '../../../src/errors.ts';
import type { Assembly } from '../../../src/session/assemble.ts';
import type { ConfigChange } from '../../../src/config/running-config.ts';
import type { Coordination } from '../../../src/state/coordination.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import { runWorker, type WorkerOptions } from '../../../src/worker/worker.ts';
import { createMemoryStore } from '../../../src/state/memory-state.ts';

const AT_ONCE = 10;
const TENANTS = Array.from({ length: 24 }, (_, index) => `t${index}`);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Rejects when the signal aborts, by the timers of the test. */
const sleep = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    signal.throwIfAborted();
    setTimeout(resolve, ms);
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });

/** Runs a worker of tenants without collections; each opening ends when the test says so. */
function worker(prepare: (tenantId: string) => Promise<void>, ids: readonly string[] = TENANTS) {
  const memory = createMemoryStore();
  /** Tenants that another process owns now. */
  const others = new Set<string>();
  const livingOwners = async (tenantIds: readonly string[]) =>
    tenantIds.map((id) => (others.has(id) ? { owner: 'a command', ownedSinceMs: 1, info: {} } : null));
  /** When the announced owners have taken over, ms since the epoch; 0: not yet. */
  const announced: number[] = [];
  const announce: Coordination['announce'] = async (_, { ownedSinceMs }) => announced.push(ownedSinceMs) > 0;
  const store = { ...memory, coordination: { ...memory.coordination, livingOwners, announce } };
  const seen = { served: [], failures: [], stopped: [], followed: [] } as Record<
    'served' | 'failures' | 'stopped' | 'followed',
    string[]
  >;
  const { served, failures, stopped, followed } = seen;
  /** At each leave of the group, which tenants had stopped. */
  const left: (readonly string[])[] = [];
  const config = { kafka: { sessionMs: 10_000 }, tenants: ids.map((id) => ({ id })) };
  let onChanged: (change: ConfigChange) => void = () => undefined;
  let group: Parameters<NonNullable<WorkerOptions['join']>>[0] | null = null;
  const assign = (tenants: readonly string[], isHandedOver = false): void =>
    group?.onAssigned({ tenants, isHandedOver });
  const stop = new AbortController();
  const owned = { progress: new Map(), transactionIds: new Map() };
  const tenant = (tenantId: string) => {
    if (!config.tenants.some(({ id }) => id === tenantId)) throw new Error(`no tenant ${tenantId}`);
    return {
      tenantId,
      owner: 'this process',
      [Symbol.asyncDispose]: async () => void stopped.push(tenantId),
      topicPrefix: 'p',
      state: store.tenant(tenantId),
      collections: [],
      log: { own: async () => owned, ranges: async () => [] },
      prepare: () => prepare(tenantId),
      runtime: { now: () => Date.now(), random: () => 0.5, randomId: () => 'id', sleep },
      emit: ({ type }: { type: string }) => {
        if (type === 'session-opened') served.push(tenantId);
        if (type === 'session-failed') failures.push(tenantId);
      },
    } as unknown as Tenant;
  };
  onTestFinished(() => stop.abort());
  const running = runWorker({ config, store, tenant } as unknown as Assembly, {
    signal: stop.signal,
    followConfig: (listener) => {
      onChanged = listener;
      return { [Symbol.dispose]: () => void followed.push('no more') };
    },
    join: (events) => {
      group = events;
      assign(ids);
      return { rejoin: () => undefined, leave: async () => void left.push([...stopped]) };
    },
  });
  const ended = vi.fn<(error: unknown) => void>();
  running.catch(ended);
  /** The configuration names these tenants from now on; `changed` are those with other settings. */
  const configure = (now: readonly string[], changed: readonly string[] = []): void => {
    const before = config.tenants.map(({ id }) => id);
    config.tenants = now.map((id) => ({ id }));
    const [added, removed] = [
      now.filter((id) => !before.includes(id)),
      before.filter((id) => !now.includes(id)),
    ];
    onChanged({ added, changed, removed });
  };
  const lose = () => group?.onLost(new RollcallError('KAFKA_UNREACHABLE', 'no answer', { remedy: 'Wait.' }));
  const end = () => {
    stop.abort();
    return running;
  };
  return { ...seen, announced, left, ended, others, running, assign, configure, lose, stop: end };
}

/** Makes openings that end only when the test resolves them. */
function heldOpenings() {
  const open = new Map<string, PromiseWithResolvers<void>>();
  const begun: string[] = [];
  return {
    begun,
    open,
    prepare: (tenantId: string): Promise<void> => {
      const opening = Promise.withResolvers<void>();
      open.set(tenantId, opening);
      begun.push(tenantId);
      return opening.promise.finally(() => open.delete(tenantId));
    },
  };
}

const passes = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const opens = () => Promise.resolve();
const trouble = (code: ErrorCode): RollcallError =>
  new RollcallError(code, 'it does not fit', { remedy: 'Mend it.' });
const without = (...ids: string[]): string[] => TENANTS.filter((tenantId) => !ids.includes(tenantId));

it('a process that starts opens ten tenants at a time, and serves the first before the last is opened', async () => {
  const { begun, open, prepare } = heldOpenings();
  const { served } = worker(prepare);
  let most = 0;
  for (const tenantId of TENANTS) {
    await vi.waitFor(() => expect(open.has(tenantId)).toBe(true));
    most = Math.max(most, open.size);
    if (tenantId === TENANTS.at(-1)) expect(served.length).toBeGreaterThanOrEqual(TENANTS.length - AT_ONCE);
    open.get(tenantId)?.resolve();
  }
  await vi.waitFor(() => expect(served).toEqual(TENANTS));
  expect([most, begun.length]).toEqual([AT_ONCE, TENANTS.length]);
});

it('a take-over is announced as soon as the tenant is open', async () => {
  const opening = Promise.withResolvers<void>();
  const { announced } = worker(() => opening.promise, ['t0']);
  await passes(1);
  expect(announced).toEqual([0]);
  const openedAtMs = Date.now();
  opening.resolve();
  await passes(1);
  expect(announced).toEqual([0, openedAtMs]);
});

it('a process that starts serves the other tenants while some tenants hang or fail as they open', async () => {
  const { served, failures } = worker((tenantId) => {
    const number = TENANTS.indexOf(tenantId);
    if (number < AT_ONCE) return new Promise(() => undefined);
    return number % 2 === 0 ? Promise.resolve() : Promise.reject(trouble('KAFKA_UNREACHABLE'));
  });
  await passes(29_000);
  expect([served, failures]).toEqual([[], []]);
  await passes(1_400);
  expect(served).toEqual(TENANTS.slice(AT_ONCE).filter((_, number) => number % 2 === 0));
  expect(new Set(failures).size).toBe((TENANTS.length - AT_ONCE) / 2);
});

it('a process that starts can stop at once while tenants wait for their turn', async () => {
  const { begun, open, prepare } = heldOpenings();
  const { stop } = worker(prepare);
  await vi.waitFor(() => expect(begun.length).toBe(AT_ONCE));
  for (const opening of open.values()) opening.reject(new Error('the signal has aborted'));
  await stop();
  expect(begun.length).toBe(AT_ONCE);
});

const FEW = ['t1', 't2', 't3', 't4'];
const others = ['t1', 't2', 't4'];

it('a tenant that needs a person fails alone, and is tried again every five minutes until it opens', async () => {
  let attempts = 0;
  const { served } = worker((tenantId) => {
    if (tenantId !== 't3') return Promise.resolve();
    attempts += 1;
    return attempts < 3 ? Promise.reject(trouble('KAFKA_TOPIC_MISMATCH')) : Promise.resolve();
  }, FEW);
  await passes(299_000);
  expect([served, attempts]).toEqual([others, 1]);
  await passes(2_000);
  expect(attempts).toBe(2);
  await passes(300_000);
  expect(served).toEqual([...others, 't3']);
});

it('a tenant that another process took over is taken back within seconds when that process ends', async () => {
  let attempts = 0;
  const {
    served,
    stopped,
    others: elsewhere,
  } = worker((tenantId) => {
    if (tenantId !== 't3') return Promise.resolve();
    attempts += 1;
    return Promise.reject(trouble('OWNERSHIP_LOST'));
  }, FEW);
  elsewhere.add('t3');
  await passes(50_000);
  // Each attempt has a tenant object of its own.
  expect([attempts, stopped, served]).toEqual([1, ['t3'], others]);
  elsewhere.delete('t3');
  await passes(10_000);
  expect(attempts).toBeGreaterThan(1);
  await passes(300_000);
  expect(attempts).toBeLessThan(12);
});

it('a tenant that needs a person ends the process once every other tenant has failed as well', async () => {
  const last = Promise.withResolvers<void>();
  const failing = () => Promise.reject<void>(trouble('KAFKA_TOPIC_MISMATCH'));
  const { running, ended } = worker((tenantId) => (tenantId === 't3' ? last.promise : failing()), FEW);
  await passes(1_000);
  expect(ended).not.toHaveBeenCalled();
  last.reject(trouble('KAFKA_TOPIC_MISMATCH'));
  await expect(running).rejects.toMatchObject({ code: 'KAFKA_TOPIC_MISMATCH' });
});

it('tenants that need a person do not end a process whose other tenants moved or were taken over', async () => {
  const { assign, ended } = worker(
    (tenantId) => Promise.reject(trouble(tenantId === 't4' ? 'OWNERSHIP_LOST' : 'KAFKA_TOPIC_MISMATCH')),
    FEW,
  );
  await passes(10_000);
  assign(['t1', 't2']);
  await passes(301_000);
  expect(ended).not.toHaveBeenCalled();
});

it('a tenant is mirrored for as long as it is assigned to this process', async () => {
  const { served, failures, stopped, assign, lose } = worker(opens);
  await passes(1_000);
  assign(without('t3'));
  await passes(0);
  expect(stopped).toEqual(['t3']);
  assign(TENANTS);
  await passes(100);
  expect(served).toEqual([...TENANTS, 't3']);
  lose();
  await passes(0);
  expect([stopped.toSorted(), failures]).toEqual([[...TENANTS, 't3'].toSorted(), TENANTS]);
  assign([]);
  served.length = 0;
  // What another worker may have held until now begins after that one has had time to end.
  assign(['t1', 't2'], true);
  await passes(499);
  expect(served).toEqual([]);
  await passes(501);
  expect(served).toEqual(['t1', 't2']);
});

it('a tenant that is changed and then removed while it stops is not begun again', async () => {
  const { begun, open, prepare } = heldOpenings();
  const { configure, ended } = worker(prepare);
  await passes(1_000);
  const [first = ''] = begun;
  configure(TENANTS, [first]);
  configure(without(first));
  open.get(first)?.resolve();
  await passes(1_000);
  expect(ended).not.toHaveBeenCalled();
  expect(begun.filter((tenantId) => tenantId === first)).toHaveLength(1);
  for (const opening of open.values()) opening.reject(new Error('the signal has aborted'));
});

it('a process leaves the group after its tenants have stopped, and then takes up no configuration', async () => {
  const { followed, left, served, configure, stop } = worker(opens);
  await vi.waitFor(() => expect(served).toEqual(TENANTS));
  const stopping = stop();
  configure(TENANTS, ['t3']);
  await stopping;
  expect([served, followed]).toEqual([TENANTS, ['no more']]);
  expect(left.map((each) => each.toSorted())).toEqual([TENANTS.toSorted()]);
});
