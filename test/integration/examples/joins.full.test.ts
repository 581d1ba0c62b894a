import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import kafkajs from 'kafkajs';
import { beforeAll, expect, inject, it } from 'vitest';
import { findJava } from '../../../stack/java-tools.ts';
import {
  compactedView,
  createTopic,
  deleteTopicsOf,
  type TopicRecord,
  withAdmin,
} from '../support/stack-kafka.ts';
import { doubledRecords } from '../../oracle/rows.ts';
import { DAY_MS, openScheduleMirror, type ScheduleMirror } from '../pipeline/schedule-mirror.ts';
import { TERM_MORNING_MS } from '../support/mirror.ts';
import type { Running } from '../support/running.ts';
import { buildJava, exampleFile, startProgram } from './example-process.ts';
import { expectEqual, type Table } from './expect-table.ts';
import {
  expectedTable,
  flinkTable,
  repetitions,
  tableOf,
  tableOfFlink,
  versionSteps,
} from './joined-tables.ts';

const FLINK_OUTPUT = 'joined-by-flink';
const STREAMS_OUTPUT = 'absence-lessons';
const LONGEST_MS = 1_000_000;
const GIVE_UP_AFTER_MS = 180_000;
/** A Friday: the clocks of Oslo go back in the night to Sunday, at 01:00 UTC. */
const TODAY = '2026-10-23';
const BEGIN_MS = Date.parse(`${TODAY}T07:30:00.000Z`);

interface Engines {
  readonly streams?: Running;
  readonly flink?: Running;
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
  async streams(stores: string): Promise<Running> {
    const folder = join(this.#folder, stores);
    mkdirSync(folder, { recursive: true });
    const settings = join(folder, 'settings.properties');
    // A killed instance is noticed after 6 s instead of 45 s, and its open transaction ends as soon.
    writeFileSync(
      settings,
      'session.timeout.ms=6000\nheartbeat.interval.ms=1000\nproducer.transaction.timeout.ms=6000\n',
    );
    const jar = exampleFile('streams-join/target/streams-join.jar');
    return startProgram([(await findJava()).path, '-Xmx256m', '-jar', jar], {
      JOIN_TOPICS: this.topics,
      JOIN_APPLICATION_ID: this.#applicationId,
      JOIN_STATE_DIR: join(folder, 'state'),
      JOIN_PARTITIONS: '2',
      JOIN_SETTINGS: settings,
    });
  }

  async flink(): Promise<Running> {
    const { kafkaBrokers, registryUrl } = inject('stack');
    const jar = exampleFile('flink-join/target/flink-join.jar');
    const sql = exampleFile('flink-join/absence-lessons.sql');
    return startProgram([(await findJava()).path, '-Xmx512m', '-jar', jar, sql], {
      BROKERS: kafkaBrokers.join(','),
      REGISTRY: registryUrl,
      TOPICS: this.topics,
      OUTPUT: this.mirror.topic(FLINK_OUTPUT),
      CHECKPOINTS: pathToFileURL(join(this.#folder, 'checkpoints')).href,
    });
  }

  /** How long Kafka may keep a segment of Kafka Streams' topics open, and put off its compaction. */
  async erasureSettings(): Promise<string[][]> {
    return withAdmin(async (admin) => {
      const own = (await admin.listTopics()).filter((name) => name.startsWith(`${this.#applicationId}-`));
      const configNames = ['segment.ms', 'max.compaction.lag.ms'];
      const resources = [...own, this.mirror.topic(STREAMS_OUTPUT)].map((name) => ({
        type: kafkajs.ConfigResourceTypes.TOPIC,
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

  /** Each version of each absence is joined once, in the order of the topic, whatever was killed. */
  async expectEachOnce(): Promise<void> {
    const [joined, absences] = [await this.streamsRecords(), await this.mirror.records('absences')];
    expect(doubledRecords(absences)).toEqual([]);
    expect(repetitions(joined)).toEqual([]);
    expect(versionSteps(joined, 'version')).toEqual(versionSteps(absences, 'sourcedId'));
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

interface SchoolLesson {
  readonly id: string;
  readonly start: string;
  readonly end: string;
  readonly class: { readonly sourcedId: string };
}

const at = (text: string, hours: number): string =>
  new Date(Date.parse(text) + hours * 3_600_000).toISOString();

/**
 * Goes on with the day: of some students, absences of every kind that the rule has a word for come, are corrected and
 * withdrawn, and lessons move, are hidden, and begin at night; a class gets another title. The lessons are read after the absences.
 *
 * @param part another one each time: 0, 1, …
 */
async function liveOn(mirror: ScheduleMirror, part: number): Promise<void> {
  const { clock, district, living } = mirror.hub;
  const lessonsToday = (student: string) =>
    district.lessons({ student, from: TODAY, to: TODAY }) as unknown as SchoolLesson[];
  const atSchool = district.ids('students').filter((student) => lessonsToday(student).length > 3);
  const chosen = atSchool.slice(part * 3, part * 3 + 3);
  expect(chosen).toHaveLength(3);
  living.step(20);
  const corrections = chosen.map((student) => {
    const [first, second, third] = lessonsToday(student) as [SchoolLesson, SchoolLesson, SchoolLesson];
    const classId = first.class.sourcedId;
    const register = (fromTime: string, toTime: string, more: { classId?: string } = {}): string =>
      district.registerAbsence({ student, fromTime, toTime, ...more });
    // From the end of a lesson to the beginning of another: it touches neither.
    register(first.end, second.start);
    // Over the night in which the clocks change; and without a real end.
    register(at(first.start, -24), at(first.start, 5 * 24));
    register(third.start, '9999-12-31T23:59:59.000Z');
    // A class that is taught, one that is not taught in that time, and one that the hub does not have.
    register(at(first.start, -1), at(first.start, 23), { classId });
    register(third.start, third.end, { classId });
    register(first.start, third.end, { classId: 'no-such-class' });
    const stays = register(first.start, third.end);
    const withdrawn = register(first.start, first.end);
    return () => {
      district.replaceAbsence(stays, { changes: { toTime: at(first.start, 0.5) } });
      district.deleteAbsence(withdrawn);
    };
  });
  await mirror.incremental();
  for (const correct of corrections) correct();
  for (const student of chosen) {
    const [first, second, third, fourth] = lessonsToday(student);
    // A class that is taught twice; a lesson from half past eleven at night, by the clock, over midnight.
    district.changeLesson(first!.id, { title: 'Moved', end: at(first!.start, 0.2) });
    district.changeLesson(second!.id, null);
    district.changeLesson(third!.id, { class: first!.class });
    district.changeLesson(fourth!.id, { start: `${TODAY}T21:30:00.000Z`, end: `${TODAY}T23:00:00.000Z` });
  }
  district.patch('classes', district.ids('classes')[part] ?? '', { title: `Renamed ${part}` });
  clock.advance(60_000);
  await mirror.incremental('absence-versions', 'classes');
  // Students whom those absences make wanted are looked up first.
  await mirror.incremental('schedules');
  await mirror.full('schedules');
}

beforeAll(async () => {
  await buildJava('streams-join');
  await buildJava('flink-join');
}, 600_000);

it(
  'the three join examples agree despite kills, and streams-join joins each change once, in order',
  async () => {
    await using mirror = await openScheduleMirror({
      students: 'absent',
      daysBack: 7,
      daysAhead: 7,
      collections: ['schedules', 'classes', 'absence-versions', 'absences', 'absence-changes'],
      settings: { deletions: { holdAbove: { rows: 10_000, ratio: 1 } } },
      hubOptions: { students: 120, startMs: BEGIN_MS },
    });
    mirror.advanceDays((BEGIN_MS - TERM_MORNING_MS) / DAY_MS);
    await using joins = new Joins(mirror);
    await joins.createFlinkOutput();
    await mirror.full();
    await using first = await joins.streams('first');
    await using second = await joins.streams('second');
    await using flink = await joins.flink();
    const begun = await joins.equal({ streams: first, flink });
    expect(lessonCount(begun)).toBeGreaterThan(10);
    // Three topics that bring records to their student, six of stores, and the output.
    const day = String(DAY_MS);
    expect(await joins.erasureSettings()).toEqual(Array.from({ length: 10 }, () => [day, day]));

    await liveOn(mirror, 0);
    await joins.equal({ streams: first, flink });

    // One of two and Flink are killed while they join changes, and then the other one.
    const before = await joins.written(STREAMS_OUTPUT);
    const amid = liveOn(mirror, 1);
    const written = () => joins.written(STREAMS_OUTPUT);
    await expect.poll(written, { timeout: GIVE_UP_AFTER_MS, interval: 50 }).toBeGreaterThan(before);
    await Promise.all([first.stop('SIGKILL'), flink.stop('SIGKILL')]);
    await amid;
    await joins.equal({ streams: second });
    await second.stop('SIGKILL');
    await liveOn(mirror, 2);
    await using third = await joins.streams('second');
    await using nextFlink = await joins.flink();
    await joins.equal({ streams: third, flink: nextFlink });
    await joins.expectEachOnce();
    expect(repetitions(await mirror.records(FLINK_OUTPUT))).toEqual([]);
    expect((await third.stop()).code).toBe(143);
  },
  LONGEST_MS,
);
