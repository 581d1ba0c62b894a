import { beforeEach, expect, it } from 'vitest';
import { NoticeBook, noticesOf, textOf, type Notice } from '../../../../src/core/health/notices.ts';
import type { PipelineEvent } from '../../../../src/core/pipeline-events.ts';
import { RollcallError } from '../../../../src/errors.ts';
import {
  ANSWERED,
  boardOf,
  caughtUp,
  loaded,
  onHoldIn,
  syncEnded,
} from '../../telemetry/support/board-of.ts';

const START_MS = Date.parse('2026-11-20T12:00:00Z');
const MINUTE_MS = 60_000;
const HERE = [{ tenant: 'north', reasons: [] }];

let nowMs: number;
/** The last notice that the receiver has taken. */
let last: Notice | undefined;
let world: ReturnType<typeof boardOf>;
let book: NoticeBook;
beforeEach(() => {
  nowMs = START_MS;
  world = boardOf(START_MS, ['users', 'orgs', 'courses']);
  world.isWell();
  book = new NoticeBook(2 * MINUTE_MS);
});

/** What is due after some minutes and events, as `status code`; the receiver takes all of it. */
function told(minutes: number, ...events: readonly PipelineEvent[]): string[] {
  world.passes(minutes * MINUTE_MS);
  nowMs += minutes * MINUTE_MS;
  world.emit(...events);
  const here = world.board.tenants.map((monitor) => monitor.status());
  const shown = here.flatMap((status) => noticesOf(status, 'rollcall'));
  const due = book.due(shown, nowMs, here);
  book.sent(due);
  last = due.at(-1) ?? last;
  return due.map(({ status, code }) => `${status} ${code}`);
}

const hold = (rows: number, onHoldSinceMs: number | null) =>
  caughtUp('users', onHoldIn('users', rows, { nowMs, onHoldSinceMs }));
const notOffered = new RollcallError('HUB_NOT_OFFERED', 'The hub does not offer it', { remedy: 'Ask.' });
const fails = (collection: 'users' | 'orgs', error = notOffered): PipelineEvent => ({
  type: 'sync-failed',
  collection,
  mode: 'INCREMENTAL',
  error,
  durationMs: 1,
  retryInMs: 1,
});
const succeeds = (collection: 'users' | 'orgs') =>
  syncEnded({ collection, mode: 'INCREMENTAL', progress: loaded(collection, nowMs) });
const kafkaAway: PipelineEvent = {
  type: 'session-failed',
  error: new RollcallError('KAFKA_UNREACHABLE', 'Kafka is away', { remedy: 'Start it.' }),
  retryInMs: 1,
};
const opened: readonly PipelineEvent[] = [
  { type: 'owned', owner: 'vm-1' },
  { type: 'session-opened' },
  ANSWERED,
];

it('a state gets one notice after it has lasted for two minutes, and one notice after it has ended', () => {
  const minutes = (...events: PipelineEvent[]) => [told(0, ...events), told(1), told(1), told(1)];
  expect(minutes(hold(7, START_MS))).toEqual([[], [], ['begun ROWS_ON_HOLD'], []]);
  expect(minutes(hold(0, null))).toEqual([[], [], ['over ROWS_ON_HOLD'], []]);
});

it('a hold is over for the receiver when every row is back, although it lasts until the next full sync', () => {
  told(0, hold(7, START_MS));
  told(2);
  told(1, hold(3, START_MS));
  told(0, hold(0, START_MS));
  expect(told(2)).toEqual(['over ROWS_ON_HOLD']);
});

it('a hold gets another notice when its rows have doubled, and none for each further row', () => {
  told(0, hold(40, START_MS));
  expect(told(2)).toEqual(['begun ROWS_ON_HOLD']);
  expect(told(2, hold(79, START_MS))).toEqual([]);
  expect(told(0, hold(4_000, START_MS))).toEqual(['grown ROWS_ON_HOLD']);
  expect(told(2)).toEqual([]);
});

it('a second collection that fails gets a notice, and the notice of the end names both', () => {
  told(0, fails('users'), fails('users'));
  expect(told(2)).toEqual(['begun collection']);
  // With a third collection that works, the hub is not to blame.
  expect(told(0, fails('orgs'), fails('orgs'))).toEqual([]);
  expect(told(2)).toEqual(['grown collection']);
  told(0, succeeds('users'));
  told(0, succeeds('orgs'));
  told(2);
  expect(last?.collections).toEqual(['users', 'orgs']);
});

it('a hub that refuses the credentials gets one notice, however many collections fail', () => {
  const refuses = (collection: 'users' | 'orgs') =>
    fails(
      collection,
      new RollcallError('HUB_TOKEN_REFUSED', `No token for ${collection}`, { remedy: 'Check.' }),
    );
  told(0, refuses('users'), refuses('users'), refuses('orgs'));
  expect([told(2), told(1, refuses('orgs')), told(2)].flat()).toEqual(['begun hub']);
  told(0, succeeds('users'), succeeds('orgs'));
  expect(told(2)).toEqual(['over hub']);
});

it('a state that lasts less than two minutes gets no notice, even if it comes again and again', () => {
  const flapping = [1, 1, 1, 1].flatMap((minute) => [
    told(minute, hold(7, nowMs)),
    told(minute, hold(0, null)),
  ]);
  expect(flapping.flat()).toEqual([]);
});

it('a failed session gets one notice, about its cause, and ends no earlier notice', () => {
  told(0, hold(7, START_MS));
  expect([told(2), told(0, kafkaAway), told(2), told(1)].flat()).toEqual([
    'begun ROWS_ON_HOLD',
    'begun kafka',
  ]);
  expect([told(0, ...opened), told(2), told(1)].flat()).toEqual(['over kafka']);
});

it('no notice ends while a tenant starts, because it is not known yet what needs a person', () => {
  told(0, hold(7, START_MS));
  told(2);
  world.board.change({ added: [], changed: ['north'], removed: [] });
  expect([told(1), told(5)].flat()).toEqual([]);
  expect([told(0, hold(7, START_MS), ...opened), told(5)].flat()).toEqual([]);
});

it('a process that has lost a tenant to another process sends no notice that a state has ended', () => {
  told(0, hold(7, START_MS));
  expect(told(2)).toEqual(['begun ROWS_ON_HOLD']);
  expect(book.due([], nowMs + 60 * MINUTE_MS, [])).toEqual([]);
  expect(book.due([], nowMs + 90 * MINUTE_MS, HERE)).toEqual([]);
});

it('a notice names tenant, collections, time and commands, and has the same id in each process', () => {
  told(0, hold(7, START_MS));
  const [status] = world.board.tenants.map((monitor) => monitor.status());
  const [shown] = status === undefined ? [] : noticesOf(status, 'rollcall');
  expect(shown?.notice).toMatchObject({
    id: 'rollcall/north/ROWS_ON_HOLD',
    tenant: 'north',
    collections: ['users'],
    what: '7 rows are on hold in users',
    since: '2026-11-20T12:00:00.000Z',
    commands: ['rollcall deletes list --tenant north'],
  });
});

it('the text of a notice has one line for a cause that many tenants share, and at most ten causes', () => {
  const notice = {
    id: '',
    status: 'over',
    collections: [],
    code: 'kafka',
    rows: null,
    since: null,
    remedy: '',
    commands: [],
  } as const;
  const of = (count: number, what: (at: number) => string) =>
    textOf(
      Array.from({ length: count }, (_, at) => ({ ...notice, tenant: `t${at}`, what: what(at) })),
      nowMs,
    );
  expect(of(300, () => 'Kafka is away')).toBe(
    'Rollcall, 300 tenants (t0, t1, t2 and 297 more): resolved: Kafka is away',
  );
  expect(of(300, String).split('\n').slice(10)).toEqual(['and 290 more: rollcall status --wrong']);
});
