import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import kafkajs, { type Admin } from 'kafkajs';
import { beforeAll, expect, inject, it } from 'vitest';
import { findJava } from '../../../stack/java-tools.ts';
import { createTopic, deleteTopicsOf, withAdmin } from '../pipeline/kafka-admin.ts';
import { DAY_MS, type ScheduleMirror } from '../pipeline/schedule-mirror.ts';
import { highWatermarks } from '../support/high-watermarks.ts';
import { compactedView, type TopicRecord } from '../support/topic-reader.ts';
import { buildJava, exampleFile, startProgram, type ExampleProcess } from './example-process.ts';
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

const { AssignerProtocol, ConfigResourceTypes } = kafkajs;
const STUDENTS = 50;
const CHANGES = 10;
const FLINK_OUTPUT = 'joined-by-flink';
const STREAMS_OUTPUT = 'absence-lessons';
const LONGEST_MS = 400_000;
const GIVE_UP_AFTER_MS = 180_000;

type Table = ReadonlyMap<string, object>;

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
async function expectEqual(wanted: Table, read: () => Promise<Table>, engine: ExampleProcess): Promise<void> {
  let found: object[] = [];
  const isEqual = async (): Promise<boolean> => {
    found = differences(wanted, await read());
    return found.length === 0;
  };
  await engine.until('that its table is right', isEqual).catch((error: unknown) => {
    expect(found).toEqual([]);
    throw error;
  });
}

interface Engines {
  readonly streams?: ExampleProcess;
  readonly flink?: ExampleProcess;
}

/** A null in `schedules` says nothing about the lessons: so the days keep their last value. */
function lastKnown(days: readonly TopicRecord[]): Map<string, TopicRecord> {
  return compactedView(days.filter(({ value }) => value !== null));
}

/** One school, with a table of each engine. */
class Joins {
  readonly mirror: ScheduleMirror;
  readonly topics: string;
  readonly #applicationId: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'rollcall-joins-'));

  constructor(mirror: ScheduleMirror) {
    this.mirror = mirror;
    this.topics = `${mirror.topicPrefix}.${mirror.tenantId}`;
    this.#applicationId = `${this.topics}.join`;
  }

  async createFlinkOutput(): Promise<void> {
    const configEntries = [{ name: 'cleanup.policy', value: 'compact' }];
    await createTopic({ topic: this.mirror.topic(FLINK_OUTPUT), numPartitions: 3, configEntries });
  }

  /** @param stores their name: an instance that is given those of another before it goes on with them */
  async streams(stores: string): Promise<ExampleProcess> {
    const folder = join(this.#folder, stores);
    mkdirSync(folder, { recursive: true });
    const settings = join(folder, 'settings.properties');
    // A killed instance is noticed after 6 s instead of 45 s, and its open transaction ends as soon.
    writeFileSync(
      settings,
      'session.timeout.ms=6000\nheartbeat.interval.ms=1000\nproducer.transaction.timeout.ms=6000\n',
    );
    return startProgram({
      command: (await findJava()).path,
      args: ['-Xmx256m', '-jar', exampleFile('streams-join/target/streams-join.jar')],
      env: {
        JOIN_TOPICS: this.topics,
        JOIN_APPLICATION_ID: this.#applicationId,
        JOIN_STATE_DIR: join(folder, 'state'),
        JOIN_PARTITIONS: '2',
        JOIN_SETTINGS: settings,
      },
    });
  }

  async flink(): Promise<ExampleProcess> {
    const { kafkaBrokers, registryUrl } = inject('stack');
    const jar = exampleFile('flink-join/target/flink-join.jar');
    return startProgram({
      command: (await findJava()).path,
      args: ['-Xmx512m', '-jar', jar, exampleFile('flink-join/absence-lessons.sql')],
      env: {
        BROKERS: kafkaBrokers.join(','),
        REGISTRY: registryUrl,
        TOPICS: this.topics,
        OUTPUT: this.mirror.topic(FLINK_OUTPUT),
        CHECKPOINTS: pathToFileURL(join(this.#folder, 'checkpoints')).href,
      },
    });
  }

  /** How many instances have partitions of the work. */
  async sharing(): Promise<number> {
    const { groups } = await withAdmin((admin) => admin.describeGroups([this.#applicationId]));
    const assignments = groups.flatMap(({ members }) => members.map((each) => each.memberAssignment));
    const partitionsOf = (assignment: Buffer): number =>
      Object.values(AssignerProtocol.MemberAssignment.decode(assignment)?.assignment ?? {}).flat().length;
    return assignments.filter((assignment) => partitionsOf(assignment) > 0).length;
  }

  /** How long Kafka may keep a segment of Kafka Streams' topics open, and put off its compaction. */
  async erasureSettings(): Promise<string[][]> {
    return withAdmin(async (admin) => {
      const own = (await admin.listTopics()).filter((name) => name.startsWith(`${this.#applicationId}-`));
      const configNames = ['segment.ms', 'max.compaction.lag.ms'];
      const resources = [...own, this.mirror.topic(STREAMS_OUTPUT)].map((name) => ({
        type: ConfigResourceTypes.TOPIC,
        name,
        configNames,
      }));
      const described = await admin.describeConfigs({ resources, includeSynonyms: false });
      return described.resources.map(({ configEntries }) =>
        configEntries.map(({ configValue }) => configValue),
      );
    });
  }

  /** How many records an engine has written to its topic; rejects while there is no such topic. */
  async written(output: string): Promise<number> {
    const partitions = await withAdmin((admin) => admin.fetchTopicOffsets(this.mirror.topic(output)));
    return partitions.reduce((sum, { high }) => sum + Number(high), 0);
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

  /** What the function in TypeScript makes of the topics, once the named engines have the same. */
  async equal(engines: Engines): Promise<Table> {
    const { mirror } = this;
    const [absences, classes, progress, days] = await Promise.all([
      mirror.view('absences'),
      mirror.view('classes'),
      mirror.view('progress'),
      mirror.records('schedules'),
    ]);
    const wanted = expectedTable({ absences, schedules: lastKnown(days), classes, progress });
    if (engines.streams !== undefined)
      await expectEqual(wanted, async () => tableOf(await this.streamsRecords()), engines.streams);
    if (engines.flink !== undefined) {
      const read = async (): Promise<Table> => tableOfFlink(await mirror.records(FLINK_OUTPUT));
      await expectEqual(flinkTable(wanted, classes), read, engines.flink);
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

const PATIENTLY = { timeout: GIVE_UP_AFTER_MS, interval: 50 };

beforeAll(async () => {
  await buildJava('streams-join');
  await buildJava('flink-join');
}, 600_000);

it(
  'through a fortnight of a school, examples/streams-join, flink-join and absence-lessons are equal, although instances are killed, and each change is joined once, in order',
  async () => {
    await using mirror = await openSchool(STUDENTS);
    await using joins = new Joins(mirror);
    await joins.createFlinkOutput();
    await mirror.full();
    await using first = await joins.streams('first');
    await using second = await joins.streams('second');
    await using flink = await joins.flink();
    const begun = await joins.equal({ streams: first, flink });
    await expect.poll(() => joins.sharing(), PATIENTLY).toBe(2);
    // Three topics that bring records to their student, six of stores, and the output.
    const day = String(DAY_MS);
    expect(await joins.erasureSettings()).toEqual(Array.from({ length: 10 }, () => [day, day]));
    expect(lessonCount(begun)).toBeGreaterThan(10);

    // A Friday and a Monday; in between the clocks change.
    const liveUntilDay = async (wanted: number, engines: Engines): Promise<void> => {
      for (; today < wanted; today += 1) nextDay(mirror);
      await liveDay(mirror, { changes: CHANGES });
      await joins.equal(engines);
    };
    let today = 0;
    await liveUntilDay(3, { streams: first, flink });

    // One of two and Flink are killed while they join a day, and the day goes on.
    const before = await joins.written(STREAMS_OUTPUT);
    const flinkEnds = joins.amidTransaction(FLINK_OUTPUT).then(() => flink.kill('SIGKILL'));
    const amid = liveDay(mirror, { changes: CHANGES });
    await expect.poll(() => joins.written(STREAMS_OUTPUT), PATIENTLY).toBeGreaterThan(before);
    await first.kill('SIGKILL');
    await flinkEnds;
    await amid;
    await joins.equal({ streams: second });
    await second.kill('SIGKILL');
    await liveDay(mirror, { changes: CHANGES });
    await using third = await joins.streams('second');
    await using nextFlink = await joins.flink();
    await joins.equal({ streams: third, flink: nextFlink });
    await liveUntilDay(6, { streams: third, flink: nextFlink });
    await nextFlink.kill('SIGKILL');
    await joins.expectEachOnce();
    await joins.expectFlinkInOrder();

    expect(await third.kill('SIGTERM')).toBe(143);
  },
  LONGEST_MS,
);
