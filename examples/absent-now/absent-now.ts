/**
 * Shows who is absent now. It keeps a table of the current absences that are not over yet, from the topic `absences`.
 *
 *   npm run -s example -- examples/absent-now/absent-now.ts                 # prints the table, and again whenever it changes
 *   npm run -s example -- examples/absent-now/absent-now.ts --once --json   # for programs: one line of JSON, then ends
 *
 *   --topics <prefix>.<tenant>   default rollcall.north
 *   --at <ISO time>              show who is absent at this time, instead of now
 *   --old-after <minutes>        age from which the table counts as old; default 1500, because a full sync runs once a day
 *
 * Addresses come from ROLLCALL_KAFKA_BROKERS and ROLLCALL_REGISTRY_URL: see "Run it piece by piece" in README.md.
 * The program keeps nothing on disk: every start reads from the beginning, and prints nothing before the table is complete.
 * The table says how old it is: it has all corrections and withdrawals up to `watermark`, and lacks nothing that the hub had at
 * `completeAsOf`. If one of these two times is longer ago than --old-after, `old` is true. Only two full syncs in a row show that
 * a record, or a pupil with all records, has left the hub. So such a record may be shown for a day or two, even if it left before
 * `completeAsOf`. The program ends with exit code 1 if the topic was recreated or lost records. Then start it again.
 */
import { randomUUID } from 'node:crypto';
import type { EachBatchPayload } from 'kafkajs';
import { openConsumer } from '../support/open-consumer.ts';
import { misused, readOptions } from '../support/read-options.ts';
import type { Absence } from '../types/absences.d.ts';
import type { CompleteFullSync, Progress } from '../types/progress.d.ts';

/** A row of the table. */
interface Absent {
  readonly absenceId: string;
  readonly student: string | null;
  readonly from: string | null;
  readonly to: string | null;
  /** Null: the absence is from the whole day, or is not from a class. */
  readonly class: string | null;
}

const options = readOptions(import.meta.filename, {
  topics: { type: 'string', default: 'rollcall.north' },
  at: { type: 'string' },
  'old-after': { type: 'string', default: '1500' },
  once: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
});
const at = options.at === undefined ? null : Date.parse(options.at);
if (Number.isNaN(at)) misused('--at takes a time such as 2026-03-10T09:30:00Z');
const oldAfterMs = Number(options['old-after']) * 60_000;
if (!(oldAfterMs > 0)) misused('--old-after takes a number of minutes');
const ABSENCES = `${options.topics}.absences`;
const PROGRESS = `${options.topics}.progress`;
const MOST_SHOWN = 20;
const LOOK_AGAIN_MS = 30_000;

/** Absences that are not over yet, by absence id. */
const notOver = new Map<string, Absence>();
/** Last offset read, by `<topic>/<partition>`. */
const passed = new Map<string, number>();
let full: CompleteFullSync | null = null;
let watermark: number | null = null;
let life: string | null = null;
let printed = '';
let isWaitReported = false;

// The group is new and commits no offsets: the table is only in memory, so each start reads everything.
const { kafka, registry, consumer, ended } = await openConsumer([ABSENCES, PROGRESS], {
  groupId: `absent-now-${randomUUID()}`,
});
const admin = kafka.admin();
await admin.connect();
const [{ high: progressEnd } = { high: '0' }] = await admin.fetchTopicOffsets(PROGRESS);
await admin.disconnect();

// This also runs after batches that have only ends of transactions, because these batches move the position forward, too.
consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
  const partition = `${payload.topic}/${payload.partition}`;
  passed.set(partition, Math.max(offsetPassed(partition), Number(payload.lastOffset)));
  attempt();
});
await consumer.connect();
await consumer.subscribe({ topics: [PROGRESS, ABSENCES], fromBeginning: true });
await consumer.run({ autoCommit: false, eachBatch: take });
const timer = setInterval(attempt, LOOK_AGAIN_MS); // absences begin and end without a record
try {
  await ended.promise;
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
} finally {
  clearInterval(timer);
  await consumer.disconnect();
}

async function take({ batch }: EachBatchPayload): Promise<void> {
  const seenBefore = offsetPassed(`${batch.topic}/${batch.partition}`);
  for (const { key, value, offset } of batch.messages) {
    if (Number(offset) <= seenBefore) continue; // after a reconnection, records may come again: they change nothing
    const decoded: unknown = value === null ? null : await registry.decode(value);
    if (batch.topic === ABSENCES) takeAbsence(String(key), decoded as Absence | null);
    else if (String(key) === 'absences') takeProgress(decoded as Progress);
  }
}

function takeAbsence(absenceId: string, absence: Absence | null): void {
  // Null: withdrawn, gone, or part of another absence. An absence that is over, or has no end, is not kept.
  if (absence === null || (absence.toTime ?? 0) <= timeOfInterest()) notOver.delete(absenceId);
  else notOver.set(absenceId, absence);
}

function takeProgress({ lastCompleteFull, watermark: upTo, lifeId }: Progress): void {
  watermark = upTo ?? null;
  if (isProgressRead() && life !== null && lifeId !== life) {
    ended.reject(new Error('The topic was recreated, or lost records. Start this program again.'));
  }
  life = lifeId ?? null;
  full = lastCompleteFull ?? null;
}

/** Whether `progress` is read to its end. An older record of it may no longer be true. */
function isProgressRead(): boolean {
  return offsetPassed(`${PROGRESS}/0`) >= Number(progressEnd) - 1;
}

function attempt(): void {
  if (!isProgressRead()) return;
  const hasAll = Object.entries(full?.offsets ?? {})
    .filter(([partition]) => partition.startsWith(`${ABSENCES}/`))
    .every(([partition, offset]) => offsetPassed(partition) >= offset);
  if (full === null && !isWaitReported) console.error('Rollcall has not read all absences yet: waiting.');
  isWaitReported = true;
  if (full === null || !hasAll) return;
  print(full.startedAt);
  if (options.once) ended.resolve();
}

function print(completeAsOf: number): void {
  const now = timeOfInterest();
  for (const [id, { toTime }] of notOver) if ((toTime ?? 0) <= now) notOver.delete(id);
  const absent = [...notOver]
    .filter(([, { fromTime }]) => fromTime != null && fromTime <= now)
    .map(([absenceId, { student, fromTime, toTime, classesAffected }]): Absent => ({
      absenceId,
      student: student?.sourcedId ?? null,
      from: iso(fromTime),
      to: iso(toTime),
      class: classesAffected?.sourcedId ?? null,
    }))
    .toSorted((a, b) => (a.absenceId < b.absenceId ? -1 : 1));
  const old = Math.min(watermark ?? 0, completeAsOf) < Date.now() - oldAfterMs;
  const text = JSON.stringify([old, absent]);
  if (text === printed) return;
  printed = text;
  if (options.json) {
    const [at, upTo, complete] = [now, watermark, completeAsOf].map(iso);
    console.log(JSON.stringify({ at, watermark: upTo, completeAsOf: complete, old, absent }));
  } else {
    console.log(
      `\n${absent.length} absences at ${iso(now)}, as the hub had them at ${iso(watermark)}. ` +
        `No absence is missing that the hub had at ${iso(completeAsOf)}. Absences that have left the hub may be shown for a day or two.`,
    );
    if (old)
      console.log(
        'OLD: Rollcall has not read the hub for a long time. Some of these students may be back, or may have left the hub.',
      );
    if (absent.length > 0) console.table(absent.slice(0, MOST_SHOWN).map(shortened));
    if (absent.length > MOST_SHOWN) console.log(`and ${absent.length - MOST_SHOWN} more: --json has all`);
  }
}

/** Ids by their first eight characters and times to the minute (UTC), so that a row fits into a terminal. */
function shortened({ absenceId, student, from, to, class: classId }: Absent): Absent {
  const [id = '', ofStudent = null, ofClass = null] = [absenceId, student, classId].map((each) =>
    each?.slice(0, 8),
  );
  const [start = null, end = null] = [from, to].map((each) => each?.slice(0, 16));
  return { absenceId: id, student: ofStudent, from: start, to: end, class: ofClass };
}

function timeOfInterest(): number {
  return at ?? Date.now();
}

function offsetPassed(partition: string): number {
  return passed.get(partition) ?? -1;
}

function iso(timeMs: number | null | undefined): string | null {
  return timeMs == null ? null : new Date(timeMs).toISOString();
}
