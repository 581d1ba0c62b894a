/**
 * Decides about messages to guardians, from the topic `absence-changes`. Each change of an absence has its effect exactly once.
 *
 *   npm run -s example -- examples/react-once/react-once.ts --db reactions.sqlite
 *
 *   --topics <prefix>.<tenant>   default rollcall.north
 *   --db <file>                  file of the reactions (SQLite)
 *   --group <id>                 default react-once
 *   --too-late-after <hours>     send no message about an absence that ended more than this many hours ago; default 24
 *
 * Addresses come from ROLLCALL_KAFKA_BROKERS and ROLLCALL_REGISTRY_URL: see "Run it piece by piece" in README.md.
 *
 * The program stores its reactions to a batch of events, and the position after this batch, in one transaction of one database
 * (SQLite). So you may kill the program at any time: either both are stored, or neither is stored and the events come again. The
 * database, not Kafka, says where to go on. What the program commits to Kafka is only for those who watch its lag. Sending a
 * message is a separate step, here a line of output. A crash may repeat this step. So pass the `ce_id` on: by it, the receiver
 * can recognise a repetition.
 *
 * Positions are valid only in one life of the topic. The program stores the `lifeId`, and compares it with the one in `progress`.
 * If the topic was recreated, or lost records, the program ends with exit code 1. The next start forgets the positions, and reads
 * from the beginning. Events that then come again are snapshots, or are known by their `ce_id`.
 */
import { DatabaseSync } from 'node:sqlite';
import type { EachBatchPayload } from 'kafkajs';
import { openConsumer } from '../support/open-consumer.ts';
import { misused, readOptions } from '../support/read-options.ts';
import { followLife, recreated } from '../support/topic-life.ts';
import type { AbsenceChange, AbsenceVersion } from '../types/absence-changes.d.ts';

/** Messages to a guardian, work for a person, and events without a reaction. */
type Action = 'tell' | 'correct' | 'withdraw' | 'ask' | 'nothing';

const options = readOptions(import.meta.filename, {
  topics: { type: 'string', default: 'rollcall.north' },
  db: { type: 'string', default: 'reactions.sqlite' },
  group: { type: 'string', default: 'react-once' },
  'too-late-after': { type: 'string', default: '24' },
});
const tooLateMs = Number(options['too-late-after']) * 3_600_000;
if (!(tooLateMs >= 0)) misused('--too-late-after takes a number of hours');

const COLLECTION = 'absence-changes';
const TOPIC = `${options.topics}.${COLLECTION}`;
/** How Kafka's protocol names the first offset there is. */
const BEGINNING = '-2';
/** How long to wait for another process that uses the same file. */
const BUSY_MS = 10_000;
/** How long the group waits after a crash before it goes on without the dead member. */
const SESSION_TIMEOUT_MS = 10_000;
const db = new DatabaseSync(options.db, { timeout: BUSY_MS });
db.exec(`
  create table if not exists started (at integer not null);
  create table if not exists positions (
    topic text, partition integer, next integer not null, primary key (topic, partition)
  );
  create table if not exists life (id text not null);
  create table if not exists reactions (
    ce_id text primary key, absence_id text not null, step integer not null, action text not null,
    facts text not null, sent integer not null default 0
  );
  create index if not exists reactions_of on reactions (absence_id);
  insert into started select ${Date.now()} where not exists (select * from started);
`);
const startedAt = Number(db.prepare('select at from started').get()?.['at']);
const position = db.prepare('select next from positions where topic = ? and partition = ?');
const setPosition = db.prepare('insert or replace into positions values (?, ?, ?)');
const lifeOfPositions = db.prepare('select id from life');
const known = db.prepare('select 1 from reactions where ce_id = ?');
const lastMessage = db.prepare(`
  select action, facts from reactions
  where absence_id = ? and action in ('tell', 'correct', 'withdraw') order by rowid desc limit 1`);
const remember = db.prepare(
  'insert into reactions (ce_id, absence_id, step, action, facts) values (?, ?, ?, ?, ?)',
);
const unsent = db.prepare(`select ce_id, absence_id, action, facts from reactions
  where sent = 0 and action <> 'nothing' order by rowid`);
const markSent = db.prepare('update reactions set sent = 1 where ce_id = ?');

send(); // the messages that a crash may have left unsent
const { kafka, registry, consumer, ended } = await openConsumer([TOPIC, `${options.topics}.progress`], {
  groupId: options.group,
  sessionTimeout: SESSION_TIMEOUT_MS,
});
consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
  for (const [topic, partitions] of Object.entries(payload.memberAssignment)) {
    for (const partition of partitions) {
      const next = positionOf(topic, partition);
      consumer.seek({ topic, partition, offset: next === null ? BEGINNING : String(next) });
    }
  }
});
const topicLife = await followLife({ kafka, registry, ended }, options.topics, COLLECTION);
let life = '';
try {
  // Ctrl-C ends the program while Rollcall has published nothing yet.
  life = (await Promise.race([topicLife.id, ended.promise])) ?? '';
  if (life !== '') {
    beginLife(life);
    await consumer.connect();
    await consumer.subscribe({ topic: TOPIC, fromBeginning: true });
    await consumer.run({ autoCommit: false, eachBatch: take });
  }
  await ended.promise;
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
} finally {
  await topicLife[Symbol.asyncDispose]();
  await consumer.disconnect();
  db.close();
}

/** Forgets the positions if they belong to another life of the topic. */
function beginLife(id: string): void {
  db.exec('begin immediate');
  if (lifeOfPositions.get()?.['id'] !== id) {
    db.exec('delete from positions; delete from life');
    db.prepare('insert into life values (?)').run(id);
  }
  db.exec('commit');
}

async function take({ batch }: EachBatchPayload): Promise<void> {
  const { topic, partition } = batch;
  const events: { id: string; offset: number; change: AbsenceChange }[] = [];
  for (const { headers, value, offset } of batch.messages) {
    if (value === null) continue; // the absence is forgotten: no event
    const change = (await registry.decode(value)) as AbsenceChange;
    events.push({ id: String(headers?.['ce_id']), offset: Number(offset), change });
  }
  const next = Number(batch.lastOffset()) + 1;
  db.exec('begin immediate');
  try {
    // Another process of the group may have begun another life, which this one has not noticed yet.
    if (lifeOfPositions.get()?.['id'] !== life) {
      db.exec('rollback');
      return ended.reject(new Error(recreated(COLLECTION)));
    }
    // Another process of the group may have handled this batch: it took the partition over, and this process has not noticed yet.
    const done = positionOf(topic, partition) ?? 0;
    for (const { id, offset, change } of events) if (offset >= done) react(id, change);
    setPosition.run(topic, partition, Math.max(next, done));
    db.exec('commit');
  } catch (error) {
    db.exec('rollback');
    throw error;
  }
  send();
  await consumer.commitOffsets([{ topic, partition, offset: String(next) }]);
}

function positionOf(topic: string, partition: number): number | null {
  const row = position.get(topic, partition);
  return row === undefined ? null : Number(row['next']);
}

function react(id: string, change: AbsenceChange): void {
  // Changes from before the first load of Rollcall, or from before the first start of this program, are not news.
  if (change.snapshot || change.detectedAt < startedAt) return;
  if (known.get(id) !== undefined) return;
  remember.run(id, change.absenceId, change.step, reactionTo(change), factsOf(change.version));
}

function reactionTo({ absenceId, operation, cause, version, previousVersion }: AbsenceChange): Action {
  // Nothing happened to the student: the absence `mergedInto` continues this one. Data under this id belongs to that absence.
  if (cause === 'MERGED') return 'nothing';
  const isTooLate = version.toTime != null && version.toTime < Date.now() - tooLateMs;
  if (isTooLate) return 'nothing';
  // The record has left the hub, but nobody withdrew the absence. Send nothing: a person should find out why.
  if (cause !== 'HUB') return 'ask';
  // The guardian knows our last message. If there was none, the guardian knows what was published before this program started.
  const last = lastMessage.get(absenceId);
  const wasPublished = operation === 'REPLACED' || operation === 'DELETED';
  const isReported = last === undefined ? wasPublished : last['action'] !== 'withdraw';
  const reported = last === undefined ? previousVersion && factsOf(previousVersion) : last['facts'];
  switch (operation) {
    case 'CREATED':
    case 'REPLACED':
    case 'RESTORED':
      if (!isReported) return 'tell';
      // A new version may change nothing of interest; an absence that was away may come back unchanged.
      return reported === factsOf(version) ? 'nothing' : 'correct';
    case 'DELETED':
      return isReported ? 'withdraw' : 'nothing';
    default:
      return 'ask'; // an operation of a newer version of Rollcall
  }
}

/** The content of a message, with ids only: other differences between two versions cause no message. */
function factsOf({ student, fromTime, toTime, classesAffected }: AbsenceVersion): string {
  const from = fromTime == null ? null : new Date(fromTime).toISOString();
  const to = toTime == null ? null : new Date(toTime).toISOString();
  return JSON.stringify({
    student: student?.sourcedId ?? null,
    from,
    to,
    class: classesAffected?.sourcedId ?? null,
  });
}

function send(): void {
  for (const { ce_id: id, absence_id: absence, action, facts } of unsent.all()) {
    console.log(`${String(action)} ${String(facts)} absence ${String(absence)} ce_id ${String(id)}`);
    markSent.run(id as string);
  }
}
