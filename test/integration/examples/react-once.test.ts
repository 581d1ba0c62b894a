import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Kafka, logLevel } from 'kafkajs';
import { describe, expect, inject, it } from 'vitest';
import { openMirror, type Mirror } from '../support/mirror.ts';
import { startExample, type ExampleProcess } from './example-process.ts';

interface Reaction {
  readonly ceId: string;
  readonly absenceId: string;
  readonly action: string;
}

const COLLECTIONS = ['absence-versions', 'absences', 'absence-changes'] as const;
const LENIENT = { deletions: { withholdAbove: { rows: 10_000, ratio: 1 } } };
const BUSY_MS = 5_000;
const MINUTE_MS = 60_000;
/** The days of the district are long past by the clock of this machine. */
const NEVER_TOO_LATE = ['--too-late-after', '10000000'];

/** One consumer group with one file, over several runs of the program. */
class Reactor implements AsyncDisposable {
  readonly #mirror: Mirror;
  readonly #directory = mkdtempSync(join(tmpdir(), 'rollcall-test-'));
  readonly #groupId: string;
  readonly #admin;
  #process: ExampleProcess | null = null;

  constructor(mirror: Mirror) {
    this.#mirror = mirror;
    this.#groupId = `${mirror.topicPrefix}-react`;
    this.#admin = new Kafka({ brokers: inject('stack').kafkaBrokers, logLevel: logLevel.NOTHING }).admin();
  }

  start(): ExampleProcess {
    const { topicPrefix, tenantId } = this.#mirror;
    this.#process = startExample('react-once.ts', [
      '--topics',
      `${topicPrefix}.${tenantId}`,
      '--db',
      this.#file,
      '--group',
      this.#groupId,
      ...NEVER_TOO_LATE,
    ]);
    return this.#process;
  }

  /** Waits until the program has begun to treat events as news. */
  async begun(): Promise<void> {
    await this.#process?.until('that it has begun', () => {
      if (!existsSync(this.#file)) return false;
      return this.#query("select name from sqlite_master where name = 'started'").length > 0;
    });
  }

  /** Waits until the program has committed the offsets of all present events. */
  async readAll(): Promise<void> {
    const records = await this.#mirror.records('absence-changes');
    await this.#process?.until('that all is read', async () => {
      const committed = await this.#offsets();
      return records.every(({ partition, offset }) => (committed.get(partition) ?? 0) > offset);
    });
  }

  /** Simulates expired offsets or lost commits of the group: all events are delivered again. */
  async forgetOffsets(): Promise<void> {
    await this.#admin.deleteGroups([this.#groupId]);
  }

  /** All reactions, in the order of the decisions. */
  reactions(): Reaction[] {
    return this.#query('select ce_id, absence_id, action from reactions order by rowid').map((row) => ({
      ceId: String(row['ce_id']),
      absenceId: String(row['absence_id']),
      action: String(row['action']),
    }));
  }

  actionsOn(absenceId: string): string[] {
    return this.reactions().flatMap((reaction) =>
      reaction.absenceId === absenceId ? [reaction.action] : [],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process?.[Symbol.asyncDispose]();
    await this.#admin.disconnect();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #query(sql: string): Record<string, unknown>[] {
    const db = new DatabaseSync(this.#file, { readOnly: true, timeout: BUSY_MS });
    try {
      return db.prepare(sql).all();
    } finally {
      db.close();
    }
  }

  get #file(): string {
    return join(this.#directory, 'reactions.sqlite');
  }

  get #topic(): string {
    return this.#mirror.topic('absence-changes');
  }

  async #offsets(): Promise<ReadonlyMap<number, number>> {
    await this.#admin.connect();
    const [topic] = await this.#admin.fetchOffsets({ groupId: this.#groupId, topics: [this.#topic] });
    return new Map((topic?.partitions ?? []).map(({ partition, offset }) => [partition, Number(offset)]));
  }
}

/** Expects one reaction to each event that is news, in the order of its absence, and no other reaction. */
async function expectEachOnce(mirror: Mirror, reactor: Reactor, startedAtMs = 0): Promise<number> {
  const events = (await mirror.records('absence-changes')).filter(
    ({ value, publishedAtMs }) =>
      value !== null && value['snapshot'] === false && publishedAtMs >= startedAtMs,
  );
  const wanted = Map.groupBy(events, ({ key }) => key);
  const found = Map.groupBy(reactor.reactions(), ({ absenceId }) => absenceId);
  const notified = Object.fromEntries([...found].map(([key, all]) => [key, all.map(({ ceId }) => ceId)]));
  expect(notified).toEqual(
    Object.fromEntries([...wanted].map(([key, all]) => [key, all.map(({ headers }) => headers['ce_id'])])),
  );
  return events.length;
}

describe('examples/react-once.ts', () => {
  it('each operation and cause gets the reaction that docs/consuming.md advises, and earlier absences get none', async () => {
    await using mirror = await openMirror({ collections: COLLECTIONS, settings: LENIENT });
    const { district, clock } = mirror.hub;
    await using reactor = new Reactor(mirror);
    const tick = async (sync: () => Promise<unknown> = () => mirror.delta()): Promise<void> => {
      clock.advance(MINUTE_MS);
      await sync();
    };
    const student = district.ids('students')[0] ?? '';
    const register = (): string =>
      district.registerAbsence({
        student,
        fromTime: '2026-03-10T08:00:00Z',
        toTime: '2026-03-10T09:00:00Z',
      });
    await mirror.full();
    register();
    await tick();
    const startedAtMs = Date.now();
    reactor.start();
    await reactor.readAll();
    expect(reactor.reactions()).toEqual([]);

    const longer = { changes: { toTime: '2026-03-10T10:00:00Z' } };

    const ordinary = register();
    await tick();
    const corrected = district.replaceAbsence(ordinary, longer);
    const same = district.replaceAbsence(corrected, { changes: { status: 'active' } });
    await tick();
    district.deleteAbsence(same);
    await tick();
    district.patch('absences', same, { deletedTime: '' });
    await tick();

    const [purged, tail, rest] = [register(), register(), register()];
    // When two absences turn out to be one, the one that was published first continues.
    await tick();
    const lost = district.replaceAbsence(tail, longer);
    const other = district.registerAbsence({
      student,
      fromTime: '2026-03-10T08:00:00Z',
      toTime: '2026-03-10T11:00:00Z',
    });
    await tick();
    const record = district.get('absences', purged) ?? {};
    district.purgeAbsence(purged);
    district.remove('absences', lost);
    district.patch('absences', other, { replaces: { sourcedId: rest, type: 'absence' } });
    await tick(() => mirror.full());
    await tick(() => mirror.full());
    district.put('absences', record);
    await tick();

    await reactor.readAll();
    // Created, replaced with other times, replaced with the same times, deleted, restored.
    expect(reactor.actionsOn(ordinary)).toEqual(['tell', 'correct', 'nothing', 'withdraw', 'tell']);
    // Created, the whole chain vanished, back under the same id as a new absence.
    expect(reactor.actionsOn(purged)).toEqual(['tell', 'ask', 'nothing']);
    // Created, replaced, the tail vanished.
    expect(reactor.actionsOn(tail)).toEqual(['tell', 'correct', 'ask']);
    // Two absences that turned out to be one.
    expect(reactor.actionsOn(rest)).toEqual(['tell', 'correct']);
    expect(reactor.actionsOn(other)).toEqual(['tell', 'nothing']);
    expect(await expectEachOnce(mirror, reactor, startedAtMs)).toBe(15);
  });

  it('each event gets exactly one reaction, even if the program is killed and events are delivered again', async () => {
    await using mirror = await openMirror({ collections: COLLECTIONS, settings: LENIENT });
    const { living, clock } = mirror.hub;
    await using reactor = new Reactor(mirror);
    let running = reactor.start();
    await reactor.begun();
    await mirror.full();
    await reactor.readAll();
    expect(reactor.reactions()).toEqual([]);
    const liveOn = async (): Promise<void> => {
      clock.advance(MINUTE_MS);
      living.step(40);
      await mirror.delta();
    };
    // The count comes before any change, as the program may handle all changes as soon as they are published.
    const before = reactor.reactions().length;
    const published = liveOn();
    await running.until('that it is amid the changes', () => reactor.reactions().length > before);
    const wasKilled = running.kill('SIGKILL');
    await published;
    await liveOn();
    await wasKilled;
    running = reactor.start();
    await liveOn();
    await reactor.readAll();
    const notified = await expectEachOnce(mirror, reactor);
    expect(notified).toBeGreaterThan(30);

    await running.kill('SIGTERM');
    await reactor.forgetOffsets();
    await liveOn();
    const republication = reactor.start();
    await reactor.readAll();
    expect(await expectEachOnce(mirror, reactor)).toBeGreaterThan(notified);
    // The reactions of this run are new, too.
    const said = republication.lines().map((line) => line.split(' ').at(-1));
    expect(new Set(said).size).toBe(said.length);
    expect(said.length).toBeLessThan(notified);
  });
});
