import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, { type Admin } from 'kafkajs';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { createTopic, deleteTopicsOf, withAdmin } from '../../pipeline/kafka-admin.ts';
import { DAY_MS, type ScheduleMirror } from '../../pipeline/schedule-mirror.ts';
import { highWatermarks } from '../../support/high-watermarks.ts';
import { compactedView, type TopicRecord } from '../../support/topic-reader.ts';
import { buildFlinkJoin, startFlinkJoin } from './flink-process.ts';
import {
  expectedTable,
  flinkTable,
  outOfOrder,
  repetitions,
  tableOf,
  tableOfFlink,
  versionSteps,
} from './joined-tables.ts';
import { liveDay, nextDay, openSchool } from './school-fortnight.ts';
import { missingSituations } from './situations.ts';
import { buildStreamsJoin, StreamsProcess } from './streams-process.ts';

const { AssignerProtocol, ConfigResourceTypes } = kafkajs;
const STUDENTS = 50;
const CHANGES = 10;
/** Friday, Saturday, in whose night the clocks change, and Monday, counted from a Tuesday. */
const DAYS = [3, 4, 6];
const FLINK_OUTPUT = 'joined-by-flink';
const STREAMS_OUTPUT = 'absence-lessons';
const LONGEST_MS = 400_000;
const GIVE_UP_AFTER_MS = 180_000;

type Table = ReadonlyMap<string, object>;

/** A joined topic, and what it must hold. */
interface Joined {
  readonly name: string;
  readonly wanted: Table;
  readonly read: () => Promise<Table>;
  readonly engines: readonly { expectAlive(): void }[];
}

/** Each row as text, whatever the order of rows and fields. */
function textsOf(table: Table): Map<string, string> {
  const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1);
  const text = (row: object): string => JSON.stringify(Object.entries(row).toSorted(byName));
  return new Map([...table].map(([key, row]) => [key, text(row)]));
}

function differences(wanted: Table, found: Table): object[] {
  const [wantedTexts, foundTexts] = [textsOf(wanted), textsOf(found)];
  const keys = new Set([...wantedTexts.keys(), ...foundTexts.keys()]);
  return [...keys]
    .map((key) => ({ key, wanted: wantedTexts.get(key), found: foundTexts.get(key) }))
    .filter((each) => each.wanted !== each.found);
}

/** Waits until an engine has caught up: its table is what the function in TypeScript makes of the topics. */
async function expectEqual({ name, wanted, read, engines }: Joined): Promise<void> {
  const giveUpAtMs = performance.now() + GIVE_UP_AFTER_MS;
  let found = differences(wanted, await read());
  while (found.length > 0 && performance.now() < giveUpAtMs) {
    for (const engine of engines) engine.expectAlive();
    await delay(300);
    found = differences(wanted, await read());
  }
  expect({ name, found }).toEqual({ name, found: [] });
}

interface Engines {
  readonly streams?: readonly StreamsProcess[];
  readonly flink?: { expectAlive(): void };
}

/** A null in `schedules` says nothing about the lessons: so the days keep their last value. */
function lastKnown(days: readonly TopicRecord[]): Map<string, TopicRecord> {
  return compactedView(days.filter(({ value }) => value !== null));
}

function beginOf(row: object): number {
  const { fromTime, from_time: ofFlink } = row as { fromTime?: number; from_time?: number };
  return fromTime ?? ofFlink ?? 0;
}

/** One school, with a table of each engine. */
class Joins {
  readonly mirror: ScheduleMirror;
  readonly topics: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'rollcall-joins-'));

  constructor(mirror: ScheduleMirror) {
    this.mirror = mirror;
    this.topics = `${mirror.topicPrefix}.${mirror.tenantId}`;
  }

  async createFlinkOutput(): Promise<void> {
    const configEntries = [{ name: 'cleanup.policy', value: 'compact' }];
    await createTopic({ topic: this.mirror.topic(FLINK_OUTPUT), numPartitions: 3, configEntries });
  }

  /** @param stores their name: an instance that is given those of another before it goes on with them */
  streams(stores: string, application = 'join'): Promise<StreamsProcess> {
    return StreamsProcess.start({
      topics: this.topics,
      applicationId: this.#applicationId(application),
      folder: join(this.#folder, stores),
    });
  }

  #applicationId(application: string): string {
    return `${this.topics}.${application}`;
  }

  flink(): ReturnType<typeof startFlinkJoin> {
    const output = this.mirror.topic(FLINK_OUTPUT);
    return startFlinkJoin({ topics: this.topics, output, checkpoints: join(this.#folder, 'checkpoints') });
  }

  /** How many instances have partitions of the work. */
  async sharing(): Promise<number> {
    const { groups } = await withAdmin((admin) => admin.describeGroups([this.#applicationId('join')]));
    const assignments = groups.flatMap(({ members }) => members.map((each) => each.memberAssignment));
    const partitionsOf = (assignment: Buffer): number =>
      Object.values(AssignerProtocol.MemberAssignment.decode(assignment)?.assignment ?? {}).flat().length;
    return assignments.filter((assignment) => partitionsOf(assignment) > 0).length;
  }

  /** How long Kafka may keep a segment of Kafka Streams' topics open, and put off its compaction, by topic. */
  async erasureSettings(): Promise<Map<string, (string | undefined)[]>> {
    return withAdmin(async (admin) => {
      const own = (await admin.listTopics()).filter((name) =>
        name.startsWith(`${this.#applicationId('join')}-`),
      );
      const resources = [...own, this.mirror.topic(STREAMS_OUTPUT)].map((name) => {
        return {
          type: ConfigResourceTypes.TOPIC,
          name,
          configNames: ['segment.ms', 'max.compaction.lag.ms'],
        };
      });
      const described = await admin.describeConfigs({ resources, includeSynonyms: false });
      return new Map(
        described.resources.map(({ resourceName, configEntries }) => {
          const valueOf = (name: string): string | undefined =>
            configEntries.find(({ configName }) => configName === name)?.configValue;
          return [resourceName, [valueOf('segment.ms'), valueOf('max.compaction.lag.ms')]];
        }),
      );
    });
  }

  /** Resolves once an engine has written more than now to its topic; call it before what makes it do so. */
  async writes(output: string): Promise<{ more: () => Promise<void> }> {
    const topic = this.mirror.topic(output);
    const end = async (): Promise<number> => {
      const partitions = await withAdmin((admin) => admin.fetchTopicOffsets(topic));
      return partitions.reduce((sum, { high }) => sum + Number(high), 0);
    };
    const before = await end();
    return {
      async more() {
        await expect.poll(end, { timeout: GIVE_UP_AFTER_MS, interval: 50 }).toBeGreaterThan(before);
      },
    };
  }

  /** Resolves once an engine has written to its topic what it has not committed. */
  async amidTransaction(output: string): Promise<void> {
    const topic = this.mirror.topic(output);
    const committed = (): ReturnType<Admin['fetchTopicOffsets']> =>
      withAdmin((admin) => admin.fetchTopicOffsets(topic));
    const isOpen = async (): Promise<boolean> => {
      const names = (await committed()).map(({ partition }) => `${topic}/${partition}`);
      const written = await highWatermarks(inject('stack').kafkaBrokers, names);
      // Asked after what was written, as it may have been committed meanwhile.
      return (await committed()).some(
        ({ partition, high }) => Number(high) < (written[`${topic}/${partition}`] ?? 0),
      );
    };
    await expect.poll(isOpen, { timeout: GIVE_UP_AFTER_MS, interval: 20 }).toBe(true);
  }

  /** Resolves once the topic of Kafka Streams can be read again. */
  async outputIsMade(): Promise<void> {
    const isThere = (): Promise<boolean> =>
      withAdmin((admin) => admin.fetchTopicOffsets(this.mirror.topic(STREAMS_OUTPUT))).then(
        () => true,
        () => false,
      );
    await expect.poll(isThere, { timeout: GIVE_UP_AFTER_MS }).toBe(true);
  }

  /** What the days so far would have to show to prove the rule, and do not. */
  async missingSituations(): Promise<string[]> {
    return missingSituations(await this.streamsRecords(), await this.mirror.records('schedules'));
  }

  /** Each version of each absence is joined once, in the order of the topic, whatever was killed. */
  async expectEachOnce(): Promise<void> {
    const [joined, absences] = [await this.streamsRecords(), await this.mirror.records('absences')];
    expect(repetitions(joined)).toEqual([]);
    expect(versionSteps(joined, 'version')).toEqual(versionSteps(absences, 'sourcedId'));
  }

  /** Flink may leave versions out, as it gathers changes, but goes back to none, and says nothing twice in a row. */
  async expectFlinkInOrder(): Promise<void> {
    const joined = await this.mirror.records(FLINK_OUTPUT);
    expect(repetitions(joined)).toEqual([]);
    expect(outOfOrder(joined, await this.mirror.records('absences'))).toEqual([]);
  }

  streamsRecords(): Promise<TopicRecord[]> {
    return this.mirror.records(STREAMS_OUTPUT);
  }

  /**
   * What the function in TypeScript makes of the topics, once the named engines have the same.
   *
   * @param sinceMs compares only absences that begin then or later
   */
  async equal(engines: Engines, sinceMs = 0): Promise<Table> {
    const { mirror } = this;
    const [absences, classes, progress, days] = await Promise.all([
      mirror.view('absences'),
      mirror.view('classes'),
      mirror.view('progress'),
      mirror.records('schedules'),
    ]);
    const since = (table: Table): Table => new Map([...table].filter(([, row]) => beginOf(row) >= sinceMs));
    const wanted = since(expectedTable({ absences, schedules: lastKnown(days), classes, progress }));
    if (engines.streams !== undefined) {
      const read = async (): Promise<Table> => since(tableOf(await this.streamsRecords()));
      await expectEqual({ name: 'Kafka Streams', wanted, read, engines: engines.streams });
    }
    if (engines.flink !== undefined) {
      const read = async (): Promise<Table> => since(tableOfFlink(await mirror.records(FLINK_OUTPUT)));
      const rows = flinkTable(wanted, classes);
      await expectEqual({ name: 'Flink', wanted: rows, read, engines: [engines.flink] });
    }
    return wanted;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await deleteTopicsOf(this.topics);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function lessonCount(table: Table): number {
  return [...table.values()].reduce((sum, row) => sum + (row as { lessons: unknown[] }).lessons.length, 0);
}

describe('examples/streams-join, examples/flink-join and examples/absence-lessons', () => {
  beforeAll(async () => {
    await buildStreamsJoin();
    await buildFlinkJoin();
  }, 600_000);

  it(
    'through a fortnight of a school they are equal, although instances are killed and one begins from nothing, and each change is joined once, in order',
    async () => {
      await using mirror = await openSchool(STUDENTS);
      await using joins = new Joins(mirror);
      await joins.createFlinkOutput();
      await mirror.full();
      await using first = await joins.streams('first');
      await using second = await joins.streams('second');
      await using flink = await joins.flink();
      const begun = await joins.equal({ streams: [first, second], flink });
      await expect.poll(() => joins.sharing(), { timeout: GIVE_UP_AFTER_MS }).toBe(2);
      // Three topics that bring records to their student, six of stores, and the output.
      const settings = await joins.erasureSettings();
      expect(new Set([...settings.values()].map(String))).toEqual(new Set([`${DAY_MS},${DAY_MS}`]));
      expect(settings.size).toBe(10);
      expect(lessonCount(begun)).toBeGreaterThan(10);

      const [early, late] = [DAYS.slice(0, DAYS.length / 2), DAYS.slice(DAYS.length / 2)];
      let today = 0;
      const liveOn = async (days: readonly number[], check: () => Promise<unknown>): Promise<void> => {
        for (const day of days) {
          for (; today < day; today += 1) nextDay(mirror);
          await liveDay(mirror, { changes: CHANGES });
          await check();
        }
      };
      await liveOn(early, () => joins.equal({ streams: [first, second], flink }));

      // One of two and Flink are killed while they join a day, and the day goes on.
      const ofStreams = await joins.writes(STREAMS_OUTPUT);
      const flinkEnds = joins.amidTransaction(FLINK_OUTPUT).then(() => flink.kill());
      const amid = liveDay(mirror, { changes: CHANGES });
      await ofStreams.more();
      await first.kill('SIGKILL');
      await flinkEnds;
      await amid;
      await joins.equal({ streams: [second] });
      await second.kill('SIGKILL');
      await liveDay(mirror, { changes: CHANGES });
      await using third = await joins.streams('second');
      await using nextFlink = await joins.flink();
      await joins.equal({ streams: [third], flink: nextFlink });
      await liveOn(late, () => joins.equal({ streams: [third], flink: nextFlink }));
      await nextFlink.kill();
      await joins.expectEachOnce();
      await joins.expectFlinkInOrder();
      expect(await joins.missingSituations()).toEqual([]);

      expect(await third.kill('SIGTERM')).toBe(143);
      await withAdmin((admin) => admin.deleteTopics({ topics: [mirror.topic(STREAMS_OUTPUT)] }));
      await using fourth = await joins.streams('fourth', 'join-again');
      await joins.outputIsMade();
      // The topics no longer have the days that left them.
      const sinceMs = Date.parse(mirror.window().from) + 2 * DAY_MS;
      const last = await joins.equal({ streams: [fourth] }, sinceMs);
      expect(lessonCount(last)).toBeGreaterThan(10);
      await joins.expectEachOnce();
    },
    LONGEST_MS,
  );
});
