import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import { CompressionTypes, Kafka, logLevel, type Producer } from 'kafkajs';
import { findJava, findMaven } from '../stack/java-tools.ts';
import { runCommand } from '../stack/run-command.ts';
import { startStack, type Stack } from '../stack/start-stack.ts';

const HELP = `npm run bench:join -- [--absences 100000] [--instances 1]

Builds examples/streams-join, fills \`absences\`, \`schedules\` and \`classes\` in a real Kafka, and starts the join. Prints how long it
takes until every absence is joined to its lessons, and then, for single absences, how long it takes from the end of the
transaction that publishes one until a consumer has its joined record. docs/performance.md explains the numbers.
`;

const TOPICS = 'bench.north';
const PARTITIONS = 6;
const ABSENCES_PER_STUDENT = 5;
const LESSONS = 6;
const CLASSES = 400;
const SINGLES = 300;
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
  const topics = [...schemaIds.keys()].map((suffix) => ({
    topic: `${TOPICS}.${suffix}`,
    numPartitions: 3,
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
        const { lessons } = (await registry.decode(value)) as {
          lessons: { classes: { title: string | null }[] }[];
        };
        const isJoined =
          lessons.length === LESSONS && lessons.every(({ classes }) => classes[0]?.title != null);
        if (isJoined && !joinedAtMs.has(String(key))) joinedAtMs.set(String(key), atMs);
      }
    },
  });
  return { joinedAtMs, records: () => records, close: () => consumer.disconnect() };
}

async function startJoin(
  stack: Stack,
  folder: string,
): Promise<{ child: ChildProcess; running: Promise<unknown> }> {
  const { path } = await findJava();
  const child = spawn(
    path,
    ['-Xmx512m', '-jar', join(PROJECT, 'examples/streams-join/target/streams-join.jar')],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        ROLLCALL_KAFKA_BROKERS: stack.kafkaBrokers.join(','),
        ROLLCALL_REGISTRY_URL: stack.registryUrl,
        JOIN_TOPICS: TOPICS,
        JOIN_PARTITIONS: String(PARTITIONS),
        JOIN_STATE_DIR: folder,
      },
    },
  );
  const running = Promise.withResolvers<void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (/^RUNNING/m.test(text)) running.resolve();
  });
  return { child, running: Promise.race([running.promise, once(child, 'close')]) };
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
  { students, children }: { students: number; children: readonly ChildProcess[] },
): Promise<number[]> {
  const delays: number[] = [];
  for (let at = 0; at < SINGLES; at += 1) {
    const name = `single-${at}`;
    await publish(publisher, 'absences', [absence(at % students, at % ABSENCES_PER_STUDENT, name)]);
    const committedAtMs = performance.now();
    await until(() => joinedAtMs.has(name), children);
    delays.push((joinedAtMs.get(name) ?? 0) - committedAtMs);
  }
  return delays.sort((a, b) => a - b);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      absences: { type: 'string', default: '100000' },
      instances: { type: 'string', default: '1' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return void process.stdout.write(HELP);
  const absences = Number(values.absences);
  const pom = join(PROJECT, 'examples/streams-join/pom.xml');
  const { code, output } = await runCommand(findMaven(), ['-B', '-q', '-f', pom, 'package', '-DskipTests']);
  if (code !== 0) throw new Error(`examples/streams-join could not be built:\n${output}`);
  await using stack = await startStack({ print });
  const kafka = new Kafka({ brokers: stack.kafkaBrokers, logLevel: logLevel.NOTHING });
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-join-'));
  const publisher = await openPublisher(stack, kafka);
  print(`publishing ${absences} absences and as many days`);
  await fill(publisher, absences);
  const startedAtMs = performance.now();
  const joins = await Promise.all(
    Array.from({ length: Number(values.instances) }, (_, at) => startJoin(stack, join(folder, String(at)))),
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
    const delays = await measureDelays(publisher, joinedAtMs, {
      students: absences / ABSENCES_PER_STUDENT,
      children,
    });
    process.stdout.write(
      `commit to joined record, ${SINGLES} single absences: p50 ${quantile(delays, 0.5)} ms, p99 ${quantile(delays, 0.99)} ms\n`,
    );
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
