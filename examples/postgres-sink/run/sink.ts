import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Stack } from '../../../stack/start-stack.ts';
import type { Connect, Waiting } from './connect.ts';
import type { Database } from './postgres.ts';

export const EXAMPLE = join(import.meta.dirname, '..');
const LOOK_AGAIN_MS = 1_000;

export interface Sink {
  readonly connect: Connect;
  readonly database: Database;
}

/** What worker.properties and the connectors take from the environment. */
export function addressesOf(
  { kafkaBrokers, registryUrl }: Pick<Stack, 'kafkaBrokers' | 'registryUrl'>,
  topics: string,
  { url }: Database,
): Record<string, string> {
  return {
    ROLLCALL_KAFKA_BROKERS: kafkaBrokers.join(','),
    ROLLCALL_TOPICS: topics,
    APICURIO_URL: registryUrl.replace(/\/apis\/.*$/, '/apis/registry/v2'),
    POSTGRES_JDBC_URL: `jdbc:postgresql://${url.host}${url.pathname}`,
    POSTGRES_USER: decodeURIComponent(url.username),
    POSTGRES_PASSWORD: decodeURIComponent(url.password),
  };
}

/** Stores in the table `positions` how far the connectors have read. */
export async function takePositions({ connect, database }: Sink): Promise<void> {
  await connect.check();
  for (const connector of connect.connectors) {
    const offsets = await connect.positions(connector);
    await database.runFile(join(EXAMPLE, 'positions.sql'), { offsets });
  }
}

/** How far Rollcall is with a collection: two fields of a value in `progress`. */
export interface Published {
  readonly collection: string;
  readonly sequence: number;
}

/** Waits until the tables hold all that was published, and lack nothing. */
export async function untilTaken(
  sink: Sink,
  published: readonly Published[],
  { signal, onWait = () => undefined }: Waiting,
): Promise<void> {
  const { connect, database } = sink;
  await until(signal, async () => {
    await connect.check();
    const rows = await database.rows<Taken>('SELECT collection, sequence FROM progress');
    const taken = new Map(rows.map((row) => [row.collection, row.sequence ?? 0]));
    const known = published.filter(({ collection, sequence }) => (taken.get(collection) ?? 0) >= sequence);
    onWait(`the table progress is up to date for ${known.length} of ${published.length} collections`);
    return known.length === published.length;
  });
  // While the district changes, there is always a later record. So wait only for the record that is the last one now.
  const last = await database.rows<Last>(LAST_PUBLISHED);
  await until(signal, async () => {
    await takePositions(sink);
    const rows = await database.rows<{ partition: string; next: number }>(POSITIONS);
    const next = new Map(rows.map((row) => [row.partition, row.next]));
    const behind = last.map(({ partition, offset }) => Math.max(0, offset + 1 - (next.get(partition) ?? 0)));
    const left = behind.reduce((sum, records) => sum + records, 0);
    const lacking = await database.rows('SELECT FROM copy_state WHERE NOT whole');
    onWait(`${left} records to go, ${lacking.length} tables are not whole yet`);
    return left === 0 && lacking.length === 0;
  });
}

const POSITIONS = "SELECT topic || '/' || partition AS partition, next_offset AS next FROM positions";
/** Of the topics that have a table here. */
const LAST_PUBLISHED = `SELECT o.key AS partition, o.value::bigint AS offset
  FROM copy_state c JOIN progress USING (collection), each(offsets) o WHERE o.key LIKE '%.' || c.collection || '/%'`;

interface Last {
  readonly partition: string;
  readonly offset: number;
}

interface Taken {
  readonly collection: string;
  readonly sequence: number | null;
}

/** Looks once a second until a condition holds. */
export async function until(signal: AbortSignal, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await delay(LOOK_AGAIN_MS, undefined, { signal });
}
