import type { Kafka } from 'kafkajs';
import { describe, expect, it, vi } from 'vitest';
import { loadConfig } from '../../../src/config.ts';
import { assemble, type Assembly } from '../../../src/session/assemble.ts';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import { TenantRun } from '../../../src/worker/worker.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { configTextOf, newTopicPrefix, openMirror, startTestHub, type Mirror } from '../support/mirror.ts';
import { indexAgainstLog, keysPublishedTwice } from './index-check.ts';
import { deleteTopicsOf, plainKafka } from './kafka-admin.ts';
import { startRollcall } from './rollcall-process.ts';

const OPTIONS = {
  collections: ['users', 'orgs'],
  hubSettings: { pageSize: 20 },
  tenant: { deltaEvery: '1s' },
} as const;

/** A load of two collections has at least this many transactions, whatever number of pages one of them takes. */
const SECOND = 2;

/** Initialises the transactional producer of the tenant from outside, which fences its present owner. */
async function fence(topicPrefix: string): Promise<void> {
  const producer = plainKafka().producer({
    transactionalId: `${topicPrefix}.north`,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  try {
    await (await producer.transaction()).abort();
  } finally {
    await producer.disconnect();
  }
}

/** Lets `act` come between a transaction's sends and its commit, from the nth commit of the process on. */
function onCommit(kafka: Kafka, act: (nth: number, commit: () => Promise<void>) => Promise<void>): void {
  let count = 0;
  const createProducer = kafka.producer.bind(kafka);
  kafka.producer = (options) => {
    const producer = createProducer(options);
    const begin = producer.transaction.bind(producer);
    producer.transaction = async () => {
      const transaction = await begin();
      const commit = transaction.commit.bind(transaction);
      return Object.assign(transaction, {
        commit: () => {
          count += 1;
          return act(count, commit);
        },
      });
    };
    return producer;
  };
}

/** Lets `act` come once before the nth transaction that a process begins from now on. */
function beforeTransaction(kafka: Kafka, nth: number, act: () => Promise<void>): void {
  let begun = 0;
  const createProducer = kafka.producer.bind(kafka);
  kafka.producer = (options) => {
    const producer = createProducer(options);
    const begin = producer.transaction.bind(producer);
    producer.transaction = async () => {
      begun += 1;
      if (begun === nth) await act();
      return begin();
    };
    return producer;
  };
}

/** Runs a tenant in this process until its first full syncs are complete, and hands over the events and a mirror. */
async function loadThrough(
  act: (options: { nth: number; commit: () => Promise<void>; topicPrefix: string }) => Promise<void>,
  attempt: (mirror: Mirror, events: readonly PipelineEvent[]) => Promise<void>,
): Promise<void> {
  const hub = await startTestHub();
  const topicPrefix = newTopicPrefix();
  try {
    const events = await runUntilComplete(configTextOf(hub, topicPrefix, OPTIONS), (assembly) => {
      onCommit(assembly.kafka, (nth, commit) => act({ nth, commit, topicPrefix }));
    });
    await using mirror = await openMirror({ ...OPTIONS, hub, topicPrefix });
    await attempt(mirror, events);
  } finally {
    await hub.stop();
    await deleteTopicsOf(topicPrefix);
  }
}

async function runUntilComplete(
  configText: string,
  prepare: (assembly: Assembly) => void,
): Promise<readonly PipelineEvent[]> {
  const config = loadConfig({ path: 'rollcall.yaml', env: {}, readFile: () => configText });
  const events: PipelineEvent[] = [];
  const stop = new AbortController();
  await using assembly = assemble(config, {
    logger: createLogger({ level: 'debug', destination: { write: () => undefined } }),
    emit: (_, event) => events.push(event),
  });
  prepare(assembly);
  await using tenant = assembly.tenant('north');
  const running = new TenantRun(tenant).mirror(stop.signal);
  try {
    await vi.waitFor(
      () => {
        const done = events.flatMap((event) =>
          event.type === 'sync-ended' && event.outcome === 'complete' ? [event.collection] : [],
        );
        expect(new Set(done)).toEqual(new Set(['users', 'orgs']));
      },
      { timeout: 60_000, interval: 50 },
    );
  } finally {
    stop.abort();
    await running;
  }
  return events;
}

async function expectNothingLostOrDoubled(mirror: Mirror): Promise<void> {
  const ends = await mirror.ends();
  expect(await mirror.differences()).toEqual({});
  for (const collection of ['users', 'orgs'] as const) {
    expect(await keysPublishedTwice(mirror, collection)).toEqual([]);
    expect(await indexAgainstLog(mirror, collection)).toEqual([]);
  }
  await mirror.full();
  expect(await mirror.since(ends)).toEqual([]);
}

/** A second assembly of the tenant, which has not taken it over yet. */
function startedBeside({ configText }: Mirror): Assembly {
  return assemble(loadConfig({ path: 'rollcall.yaml', env: {}, readFile: () => configText }), {
    logger: createLogger({ level: 'debug', destination: { write: () => undefined } }),
    emit: () => undefined,
  });
}

const sessionFailures = (events: readonly PipelineEvent[]) =>
  events.filter(({ type }) => type === 'session-failed');

describe('one writer per tenant', () => {
  it('a commit that takes effect but whose answer is lost causes nothing to be published twice', async () => {
    await loadThrough(
      async ({ nth, commit }) => {
        await commit();
        if (nth === SECOND) throw new Error('the connection broke before the answer came');
      },
      async (mirror, events) => {
        expect(sessionFailures(events)).toMatchObject([{ error: { code: 'KAFKA_OUTCOME_UNKNOWN' } }]);
        await expectNothingLostOrDoubled(mirror);
      },
    );
  });

  it('a commit that never reached the broker loses nothing', async () => {
    await loadThrough(
      async ({ nth, commit }) => {
        if (nth === SECOND) throw new Error('the connection broke before the request went out');
        await commit();
      },
      async (mirror, events) => {
        expect(sessionFailures(events)).toMatchObject([{ error: { code: 'KAFKA_OUTCOME_UNKNOWN' } }]);
        await expectNothingLostOrDoubled(mirror);
      },
    );
  });

  it('a producer fenced during a transaction commits nothing of it, and without a newer owner the process continues', async () => {
    await loadThrough(
      async ({ nth, commit, topicPrefix }) => {
        if (nth === SECOND) await fence(topicPrefix);
        await commit();
      },
      async (mirror, events) => {
        const failures = sessionFailures(events);
        expect(failures).toMatchObject([{ error: { code: 'KAFKA_OUTCOME_UNKNOWN' } }]);
        await expectNothingLostOrDoubled(mirror);
      },
    );
  });

  it('an older process does not fence a newer one: it loses the ownership', async () => {
    await using older = await openMirror(OPTIONS);
    await older.full();
    await using newer = await openMirror({ ...OPTIONS, hub: older.hub, topicPrefix: older.topicPrefix });
    const { district } = older.hub;
    const [id = ''] = district.ids('users');
    district.patch('users', id, { givenName: 'Somebody Else' });
    const [fenced] = await older.attempt('INCREMENTAL', 'users');
    expect(fenced?.error).toMatchObject({ code: 'KAFKA_OUTCOME_UNKNOWN' });
    const { signal } = new AbortController();
    const { log } = older.parts;
    await expect(log.own(signal)).rejects.toMatchObject({ code: 'OWNERSHIP_LOST' });
    await newer.delta();
    const published = (await newer.records('users')).filter(({ key }) => key === id);
    expect(published).toHaveLength(2);
    expect(await newer.differences()).toEqual({});
  });

  it('a newer process that takes over just after the older one has read the owner stays the owner', async () => {
    await using older = await openMirror(OPTIONS);
    await older.full();
    await using both = new AsyncDisposableStack();
    const second = { ...OPTIONS, hub: older.hub, topicPrefix: older.topicPrefix };
    let newer = null as Mirror | null;
    beforeTransaction(older.assembly.kafka, 1, async () => {
      newer = both.use(await openMirror(second));
    });
    const { signal } = new AbortController();
    const { log: olderLog } = older.parts;
    await fence(older.topicPrefix);
    await expect(olderLog.own(signal)).rejects.toMatchObject({ code: 'OWNERSHIP_LOST' });
    if (newer === null) throw new Error('no newer process took over');
    const { owner } = newer.parts;
    expect(await newer.parts.log.own(signal)).toMatchObject({ owner });
    await expect(olderLog.own(signal)).rejects.toMatchObject({ code: 'OWNERSHIP_LOST' });
  });

  it('a process that is slow to take over does not displace one that took over meanwhile', async () => {
    await using first = await openMirror(OPTIONS);
    await using slow = startedBeside(first);
    await using later = new AsyncDisposableStack();
    await using parts = slow.tenant('north');
    await parts.prepare();
    beforeTransaction(slow.kafka, 1, async () => {
      later.use(await openMirror({ ...OPTIONS, hub: first.hub, topicPrefix: first.topicPrefix }));
    });
    const { signal } = new AbortController();
    await expect(parts.log.own(signal)).rejects.toMatchObject({ code: 'OWNERSHIP_LOST' });
  });

  it('a newer process whose take-over the older one interrupted succeeds at the second attempt', async () => {
    await using older = await openMirror(OPTIONS);
    await older.full();
    const { signal } = new AbortController();
    const { log: olderLog } = older.parts;
    await using assembly = startedBeside(older);
    await using tenant = assembly.tenant('north');
    const { prepare, log: newerLog } = tenant;
    await prepare();
    beforeTransaction(assembly.kafka, 2, async () => {
      await olderLog.own(signal);
    });
    await expect(newerLog.own(signal)).rejects.toMatchObject({ code: 'KAFKA_UNREACHABLE' });
    await newerLog.own(signal);
    await expect(olderLog.own(signal)).rejects.toMatchObject({ code: 'OWNERSHIP_LOST' });
  });

  it('a second process of the same configuration is ready without the tenant, and takes it over when the first ends', async () => {
    const hub = await startTestHub();
    const topicPrefix = newTopicPrefix();
    try {
      const configText = configTextOf(hub, topicPrefix, OPTIONS);
      await using first = await startRollcall(['run'], configText);
      await first.says('"mirroring"');
      await vi.waitFor(async () => expect((await first.readiness())?.status).toBe(200), 30_000);
      await using second = await startRollcall(['run'], configText);
      await second.says('no tenant is assigned to this process');
      expect((await second.readiness())?.status).toBe(200);
      first.kill('SIGTERM');
      await first.endsWith(0);
      await second.says('"mirroring"');
      const [id = ''] = hub.district.ids('users');
      hub.district.patch('users', id, { givenName: 'Somebody Else' });
      await second.says('"rowsUpdated":1');
      second.kill('SIGTERM');
      await second.endsWith(0);
      expect(first.output() + second.output()).not.toContain('OWNERSHIP_LOST');
      await using mirror = await openMirror({ ...OPTIONS, hub, topicPrefix });
      expect(await mirror.differences()).toEqual({});
      expect(await keysPublishedTwice(mirror, 'users')).toEqual([id]);
    } finally {
      await hub.stop();
      await deleteTopicsOf(topicPrefix);
    }
  });

  it('a process that is superseded by one outside its group goes on without the tenant, and says so', async () => {
    const hub = await startTestHub();
    const topicPrefix = newTopicPrefix();
    try {
      const configText = configTextOf(hub, topicPrefix, OPTIONS);
      await using worker = await startRollcall(['run'], configText);
      await worker.says('"mirroring"');
      await vi.waitFor(async () => expect((await worker.readiness())?.status).toBe(200), 30_000);
      await using newer = await openMirror({ ...OPTIONS, hub, topicPrefix });
      const [id = ''] = hub.district.ids('users');
      hub.district.patch('users', id, { givenName: 'Somebody Else' });
      await worker.says('Another process has taken over tenant north');
      const says = async () => expect((await worker.readiness())?.text).toContain('failed');
      await vi.waitFor(says, 30_000);
      await newer.delta();
      expect(await newer.differences()).toEqual({});
      expect(await keysPublishedTwice(newer, 'users')).toEqual([id]);
      worker.kill('SIGTERM');
      await worker.endsWith(0);
    } finally {
      await hub.stop();
      await deleteTopicsOf(topicPrefix);
    }
  });

  it('SIGTERM during a first load: the process exits with 0 within 30 s, and the next start completes the load', async () => {
    const hub = await startTestHub({ faults: ['latency=300@users'] });
    const topicPrefix = newTopicPrefix();
    const options = { ...OPTIONS, hubSettings: { pageSize: 5 } };
    try {
      const configText = configTextOf(hub, topicPrefix, options);
      let published = 0;
      {
        await using first = await startRollcall(['run'], configText);
        await first.says('"mirroring"');
        await vi.waitFor(
          () =>
            expect(hub.requests.all().filter(({ target }) => target === 'users').length).toBeGreaterThan(4),
          { timeout: 30_000, interval: 20 },
        );
        const startedAtMs = performance.now();
        first.kill('SIGTERM');
        await first.endsWith(0);
        expect(performance.now() - startedAtMs).toBeLessThan(30_000);
        expect(first.output()).not.toMatch(/^\s+at /m);
      }
      hub.faults.clear();
      await using mirror = await openMirror({ ...options, hub, topicPrefix });
      published = (await mirror.records('users')).length;
      expect(published).toBeGreaterThan(0);
      expect(published).toBeLessThan(hub.district.ids('users').length);
      await mirror.full();
      await expectNothingLostOrDoubled(mirror);
    } finally {
      await hub.stop();
      await deleteTopicsOf(topicPrefix);
    }
  });
});
