import type { ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import { CompressionTypes, Kafka, logLevel, type Producer } from 'kafkajs';
import { startStack, type Stack } from '../stack/start-stack.ts';
import { buildEngine, startEngine, type Engine } from './join-engines.ts';

const HELP = `npm run bench:join -- [--absences 100000] [--singles 300] [--engine streams|flink] [--instances 1]

Builds examples/streams-join or examples/flink-join, fills \`absences\`, \`schedules\` and \`classes\` in a real Kafka, and starts
the join. Prints how long it takes until every absence is joined to its lessons, and then, for single absences, how long it
takes from the end of the transaction that publishes one until a consumer has its joined record. Only Kafka Streams shares
the work among instances. docs/performance.md explains the numbers.
`;

const TOPICS = 'bench.north';
const PARTITIONS = 6;
const ABSENCES_PER_STUDENT = 5;
const LESSONS = 6;
const CLASSES = 400;
const HOUR_MS = 3_600_000;
const MONDAY_MS = Date.parse('2026-03-09T07:00:00Z');
const PROJECT = join(import.meta.dirname, '..');
const BATCH = 2_000;

const print = (line: string): void => void process.stderr.write(`bench: ${line}\n`);

interface Publisher {
  readonly producer: Producer;
  readonly registry: SchemaRegistry;
  readonly schemaIds: ReadonlyMap<string, number>;
}

async function openPublisher(stack: Stack, kafka: Kafka): Promise<Publisher> {
  const registry = new SchemaRegistry({ host: stack.registryUrl });
  const schemaIds = new Map<string, number>();
  for (const [suffix, file] of [
    ['absences', 'absence-versions'],
    ['schedules', 'schedules'],
    ['classes', 'classes'],
  ] as const) {
    const schema = await readFile(join(PROJECT, 'avro', `${file}.avsc`), 'utf8');
    const subject = `${TOPICS}.${suffix}-value`;
    const { id } = await registry.register({ type: SchemaType.AVRO, schema }, { subject });
    schemaIds.set(suffix, id);
  }
  const admin = kafka.admin();
  await admin.connect();
  const topics = [...schemaIds.keys(), 'absence-lessons'].map((suffix) => ({
    topic: `${TOPICS}.${suffix}`,
    numPartitions: suffix === 'absence-lessons' ? PARTITIONS : 3,
    replicationFactor: 1,
  }));
  await admin.createTopics({ topics, waitForLeaders: true });
  await admin.disconnect();
  const producer = kafka.producer({ transactionalId: 'bench', maxInFlightRequests: 1, idempotent: true });
  await producer.connect();
  return { producer, registry, schemaIds };
}

async function publish(
  { producer, registry, schemaIds }: Publisher,
  suffix: string,
  records: readonly { key: string; value: object }[],
): Promise<void> {
  const id = schemaIds.get(suffix) ?? 0;
  for (let at = 0; at < records.length; at += BATCH) {
    const messages = await Promise.all(
      records
        .slice(at, at + BATCH)
        .map(async ({ key, value }) => ({ key, value: await registry.encode(id, value) })),
    );
    const transaction = await producer.transaction();
    await transaction.send({ topic: `${TOPICS}.${suffix}`, messages, compression: CompressionTypes.None });
    await transaction.commit();
  }
}

function absence(student: number, day: number, name: string): { key: string; value: object } {
  const fromTime = MONDAY_MS + day * 24 * HOUR_MS;
  const value = {
    sourcedId: name,
    student: { sourcedId: `s${student}` },
    fromTime,
    toTime: fromTime + LESSONS * HOUR_MS,
  };
  return { key: name, value };
}

function dayOf(student: number, day: number): { key: string; value: object } {
  const startMs = MONDAY_MS + day * 24 * HOUR_MS;
  const date = new Date(startMs).toISOString().slice(0, 10);
  const lessons = Array.from({ length: LESSONS }, (_, at) => ({
    id: `l${day}-${at}-${student % CLASSES}`,
    title: 'A lesson',
    start: startMs + at * HOUR_MS,
    end: startMs + (at + 1) * HOUR_MS,
    classes: [{ sourcedId: `c${(student + at) % CLASSES}` }],
    raw: '{"a":"lesson as the hub sent it, as text that the join does not keep"}',
  }));
  return {
    key: `s${student}|${date}`,
    value: { student: `s${student}`, date: Date.parse(date) / 86_400_000, lessons },
  };
}

async function fill(publisher: Publisher, absences: number): Promise<void> {
  const students = Array.from({ length: absences / ABSENCES_PER_STUDENT }, (_, at) => at);
  const days = Array.from({ length: ABSENCES_PER_STUDENT }, (_, at) => at);
  const each = <T>(make: (student: number, day: number) => T): T[] =>
    students.flatMap((student) => days.map((day) => make(student, day)));
  const classes = Array.from({ length: CLASSES }, (_, at) => ({ sourcedId: `c${at}`, title: `Class ${at}` }));
  await publish(
    publisher,
    'classes',
    classes.map((value) => ({ key: value.sourcedId, value })),
  );
  await publish(
    publisher,
    'absences',
    each((student, day) => absence(student, day, `a${student}-${day}`)),
  );
  await publish(publisher, 'schedules', each(dayOf));
}

interface JoinedValue {
  readonly lessons: readonly { readonly classes?: readonly { readonly title: string | null }[] }[] | null;
}

interface Watch {
  readonly joinedAtMs: Map<string, number>;
  /** All records so far. */
  readonly records: () => number;
  readonly close: () => Promise<void>;
}

/** Reads `absence-lessons`: when each absence was first seen with all its lessons and their titles. */
async function watch(stack: Stack, kafka: Kafka): Promise<Watch> {
  const registry = new SchemaRegistry({ host: stack.registryUrl });
  const joinedAtMs = new Map<string, number>();
  let records = 0;
  const consumer = kafka.consumer({ groupId: 'bench-watch', maxWaitTimeInMs: 5 });
  await consumer.connect();
  await consumer.subscribe({ topic: `${TOPICS}.absence-lessons`, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }) => {
      const atMs = performance.now();
      for (const { key, value } of batch.messages) {
        records += 1;
        if (value === null) continue;
        const { lessons } = (await registry.decode(value)) as JoinedValue;
        // Flink's table names no classes of the lessons.
        const isNamed = lessons?.every(({ classes }) => classes === undefined || classes[0]?.title != null);
        const isJoined = lessons?.length === LESSONS && isNamed === true;
        if (isJoined && !joinedAtMs.has(String(key))) joinedAtMs.set(String(key), atMs);
      }
    },
  });
  return { joinedAtMs, records: () => records, close: () => consumer.disconnect() };
}

async function until(isSo: () => boolean, children: readonly ChildProcess[]): Promise<void> {
  while (!isSo()) {
    if (children.some(({ exitCode }) => exitCode !== null)) throw new Error('the join ended');
    await delay(20);
  }
}

function quantile(sorted: readonly number[], share: number): number {
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
}

async function measureDelays(
  publisher: Publisher,
  joinedAtMs: ReadonlyMap<string, number>,
  { singles, students, children }: { singles: number; students: number; children: readonly ChildProcess[] },
): Promise<number[]> {
  const delays: number[] = [];
  for (let at = 0; at < singles; at += 1) {
    const name = `single-${at}`;
    await publish(publisher, 'absences', [absence(at % students, at % ABSENCES_PER_STUDENT, name)]);
    const committedAtMs = performance.now();
    await until(() => joinedAtMs.has(name), children);
    delays.push((joinedAtMs.get(name) ?? 0) - committedAtMs);
  }
  return delays.sort((a, b) => a - b);
}

function options(): { absences: number; singles: number; instances: number; engine: Engine } | undefined {
  const { values } = parseArgs({
    options: {
      absences: { type: 'string', default: '100000' },
      singles: { type: 'string', default: '300' },
      instances: { type: 'string', default: '1' },
      engine: { type: 'string', default: 'streams' },
      help: { type: 'boolean', default: false },
    },
  });
  const { absences, singles, instances, engine, help } = values;
  if (help) return undefined;
  if (engine !== 'streams' && engine !== 'flink')
    throw new Error(`--engine is streams or flink, and not ${engine}`);
  return { absences: Number(absences), singles: Number(singles), instances: Number(instances), engine };
}

async function main(): Promise<void> {
  const wanted = options();
  if (wanted === undefined) return void process.stdout.write(HELP);
  const { absences, singles, instances, engine } = wanted;
  await buildEngine(engine);
  await using stack = await startStack({ print });
  const kafka = new Kafka({ brokers: stack.kafkaBrokers, logLevel: logLevel.NOTHING });
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-join-'));
  const publisher = await openPublisher(stack, kafka);
  print(`publishing ${absences} absences and as many days`);
  await fill(publisher, absences);
  const startedAtMs = performance.now();
  const place = { stack, topics: TOPICS, partitions: PARTITIONS };
  const joins = await Promise.all(
    Array.from({ length: instances }, (_, at) =>
      startEngine(engine, { ...place, folder: join(folder, String(at)) }),
    ),
  );
  const children = joins.map(({ child }) => child);
  try {
    await Promise.all(joins.map(({ running }) => running));
    const runningAtMs = performance.now();
    const { joinedAtMs, records, close } = await watch(stack, kafka);
    await until(() => joinedAtMs.size >= absences, children);
    const seconds = (Math.max(...joinedAtMs.values()) - runningAtMs) / 1000;
    const startSeconds = (runningAtMs - startedAtMs) / 1000;
    process.stdout.write(
      `${absences} absences joined ${seconds.toFixed(1)} s after the join was running (it started in ${startSeconds.toFixed(1)} s): ` +
        `${Math.round(absences / seconds)} a second, ${records()} records\n`,
    );
    const students = absences / ABSENCES_PER_STUDENT;
    const delays = await measureDelays(publisher, joinedAtMs, { singles, students, children });
    process.stdout.write(
      `commit to joined record, ${singles} single absences: p50 ${quantile(delays, 0.5)} ms, p99 ${quantile(delays, 0.99)} ms\n`,
    );
    const [load = 0] = loadavg();
    process.stdout.write(`${engine}, instances: ${instances}; load in the last minute: ${load.toFixed(0)}\n`);
    await close();
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await publisher.producer.disconnect();
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
// The clients keep their connections open.
process.exit(0);
