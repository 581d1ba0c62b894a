import { Registry } from 'prom-client';
import { ConfigFile } from '../../../src/config/config-file.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import type { Progress, SyncMode } from '../../../src/model/progress.ts';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { startStatusServer } from '../../../src/telemetry/http-server.ts';
import { Board } from '../../../src/telemetry/board.ts';

const MINUTE_MS = 60_000;
const ROWS = {
  orgs: 38,
  'academic-sessions': 12,
  courses: 412,
  classes: 1_968,
  students: 19_204,
  users: 21_430,
  enrollments: 96_214,
  'absence-versions': 48_920,
  schedules: 184_300,
} as const satisfies Partial<Record<CollectionName, number>>;
type Mirrored = keyof typeof ROWS;
export const INVENTED_COLLECTIONS: readonly string[] = [...Object.keys(ROWS), 'absences', 'absence-changes'];

const CONFIG = `
kafka: { brokers: [localhost:9092] }
registry: { url: http://localhost:8081 }
tenants:
  - id: north
    collections: [${INVENTED_COLLECTIONS.join(', ')}]
    schedules: { students: all }
    hub: { baseUrl: https://hub.example, tokenUrl: https://hub.example/token, clientId: c, clientSecret: s }
`;

/** The status page of a process that mirrors an invented district. */
export async function startInventedPage() {
  let nowMs = Date.now();
  const now = (): number => nowMs;
  const file = new ConfigFile({ path: 'rollcall.yaml', env: {}, readFile: () => CONFIG });
  const board = new Board(file, { version: '0.1.0', now });
  board.hold(['north']);
  const emit = (event: PipelineEvent): void => void board.note('north', event);
  emit({ type: 'owned', owner: 'rollcall-0-1-6afb2b0e' });
  for (const collection of Object.keys(ROWS) as Mirrored[])
    emit({
      type: 'caught-up',
      collection,
      how: 'current',
      why: '',
      rows: ROWS[collection],
      rejects: 0,
      progress: progressOf(collection, 'FULL', nowMs),
      contradictions: null,
      derived: collection === 'absence-versions' ? derivedProgress(nowMs) : [],
    });
  const server = await startStatusServer({
    host: '127.0.0.1',
    port: 0,
    board,
    metrics: new Registry(),
  });
  const started = Date.now() - nowMs;
  const clock = setInterval(() => (nowMs = Date.now() - started), 100);
  return {
    url: `http://127.0.0.1:${server.port}/`,
    emit,
    board,
    runsFullSync: (collection: Mirrored, seen: number) => runFullSync(emit, { collection, seen, nowMs }),
    holds: (collection: Mirrored, rowsWithheld: number) =>
      holdRows(emit, { collection, rowsWithheld, nowMs }),
    async [Symbol.asyncDispose]() {
      clearInterval(clock);
      await server.close();
    },
  };
}

function runFullSync(
  emit: (event: PipelineEvent) => void,
  { collection, seen, nowMs }: { collection: Mirrored; seen: number; nowMs: number },
): void {
  const stats = newSyncStats({ syncId: 'f', mode: 'FULL', startedAtMs: nowMs });
  const tally = {
    seen,
    unchanged: seen,
    stale: 0,
    over: 0,
    repeated: 0,
    created: 0,
    updated: 0,
    rejected: 0,
    withoutId: 0,
  };
  emit({ type: 'sync-started', collection, mode: 'FULL' });
  emit({
    type: 'sync-page',
    collection,
    stats: { ...stats, rowsSeen: seen, totalAtStart: ROWS[collection] },
    tally,
  });
}

function derivedProgress(nowMs: number): Progress[] {
  return (['absences', 'absence-changes'] as const).map((collection) =>
    Object.assign(progressOf('absence-versions', 'INCREMENTAL', nowMs), { collection }),
  );
}

/** A full sync has missed rows, and the guard holds them. */
function holdRows(
  emit: (event: PipelineEvent) => void,
  { collection, rowsWithheld, nowMs }: { collection: Mirrored; rowsWithheld: number; nowMs: number },
): void {
  const deletions = { settledBy: 'p', day: '', removed: 0, heldSinceMs: nowMs, why: null, approval: null };
  emit({
    type: 'caught-up',
    collection,
    how: 'current',
    why: '',
    rows: ROWS[collection],
    rejects: 0,
    progress: { ...progressOf(collection, 'FULL', nowMs), rowsWithheld, deletions },
    contradictions: null,
  });
}

function progressOf(collection: Mirrored, mode: SyncMode, nowMs: number): Progress {
  const rows = ROWS[collection];
  return {
    collection,
    sequence: 1,
    transactionId: 't',
    syncId: 'p',
    mode,
    complete: true,
    startedAtMs: nowMs,
    rowsSeen: rows,
    rowsPublished: 0,
    rowsRejected: 0,
    rowsRemoved: 0,
    rowsWithheld: 0,
    totalAtStart: rows,
    totalAtEnd: rows,
    watermarkMs: nowMs - 5 * MINUTE_MS,
    offsets: {},
    lastCompleteFull: {
      syncId: 'p',
      startedAtMs: nowMs - 3 * 60 * MINUTE_MS,
      offsets: {},
      rows,
      rowsRejected: 0,
      rowsWithheld: 0,
    },
  };
}
