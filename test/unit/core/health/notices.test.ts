import { beforeEach, expect, it } from 'vitest';
import { NoticeBook, noticesOf, textOf } from '../../../../src/core/health/notices.ts';
import type { PipelineEvent } from '../../../../src/core/pipeline-events.ts';
import { RollcallError } from '../../../../src/errors.ts';
import { ANSWERED, boardOf, caughtUp, onHoldIn } from '../../telemetry/support/board-of.ts';

const START_MS = Date.parse('2026-11-20T12:00:00Z');
const MINUTE_MS = 60_000;
const HERE = new Map([['north', { isStarting: false, decision: null }]]);

let nowMs: number;
let world: ReturnType<typeof boardOf>;
let book: NoticeBook;
beforeEach(() => {
  nowMs = START_MS;
  world = boardOf(START_MS);
  world.isWell();
  book = new NoticeBook(2 * MINUTE_MS);
});

/** What is due after some minutes and events, as `status code` and how it ended; the receiver takes all of it. */
function told(minutes: number, ...events: readonly PipelineEvent[]): string[] {
  world.passes(minutes * MINUTE_MS);
  nowMs += minutes * MINUTE_MS;
  world.emit(...events);
  const [monitor] = world.board.tenants;
  const status = monitor?.status();
  if (status === undefined) throw new Error('no tenant');
  const isStarting = status.reasons.some(({ part }) => part === 'start');
  const now = { isStarting, decision: monitor?.lastDecision ?? null };
  const due = book.due(noticesOf(status, 'rollcall'), nowMs, new Map([['north', now]]));
  book.told(due);
  return due.map(({ status, code, how }) => `${status} ${code}${how === null ? '' : `: ${how}`}`);
}

const hold = (rows: number, onHoldSinceMs: number | null) =>
  caughtUp('users', onHoldIn('users', rows, { nowMs, onHoldSinceMs }));
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

it('a state is told once it has lasted for two minutes, once, and so is its end', () => {
  const minutes = (...events: PipelineEvent[]) => [told(0, ...events), told(1), told(1), told(1)];
  expect(minutes(hold(7, START_MS))).toEqual([[], [], ['begun ROWS_ON_HOLD'], []]);
  expect(minutes(hold(0, null))).toEqual([[], [], ['over ROWS_ON_HOLD'], []]);
});

it.each([
  ['approved', 'over ROWS_ON_HOLD: a person has approved the removals'],
  ['healed', 'over ROWS_ON_HOLD: the missing rows are back'],
  [null, 'over ROWS_ON_HOLD'],
] as const)('the end of a hold says how it ended, as far as that is known: %s', (kind, said) => {
  const decided = (at: 'approved' | 'healed') =>
    ({ type: 'deletion', event: { kind: at, collection: 'users', atMs: nowMs } }) as const;
  // What was decided about an earlier hold says nothing about this one.
  told(0, decided('approved'));
  told(1, hold(7, START_MS));
  told(2);
  told(0, ...(kind === null ? [] : [decided(kind)]), hold(0, null));
  expect(told(2)).toEqual([said]);
});

it('a state that is over within two minutes is not told, nor is one that comes and goes', () => {
  const flapping = [1, 1, 1, 1].flatMap((minute) => [
    told(minute, hold(7, nowMs)),
    told(minute, hold(0, null)),
  ]);
  expect(flapping.flat()).toEqual([]);
});

it('a failed session is told as its cause alone, which does not end what was told before', () => {
  told(0, hold(7, START_MS));
  expect([told(2), told(0, kafkaAway), told(2), told(1)].flat()).toEqual([
    'begun ROWS_ON_HOLD',
    'begun kafka',
  ]);
  expect([told(0, ...opened), told(2), told(1)].flat()).toEqual(['over kafka: Kafka can be used again']);
});

it('while a tenant starts, no notice ends, because it is not known yet what needs a person', () => {
  told(0, hold(7, START_MS));
  told(2);
  world.board.change({ added: [], changed: ['north'], removed: [] });
  expect([told(1), told(5)].flat()).toEqual([]);
  expect([told(0, hold(7, START_MS), ...opened), told(5)].flat()).toEqual([]);
});

it('the end of what needs a person is left to the process that has taken the tenant over', () => {
  told(0, hold(7, START_MS));
  expect(told(2)).toEqual(['begun ROWS_ON_HOLD']);
  expect(book.due([], nowMs + 60 * MINUTE_MS, new Map())).toEqual([]);
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

it('a text has one line for a cause that many tenants share, and names at most ten causes', () => {
  const notice = {
    id: '',
    status: 'over',
    collections: [],
    code: 'kafka',
    since: null,
    how: 'Kafka can be used again',
    remedy: '',
    commands: [],
  } as const;
  const of = (count: number, what: (at: number) => string) =>
    textOf(
      Array.from({ length: count }, (_, at) => ({ ...notice, tenant: `t${at}`, what: what(at) })),
      nowMs,
    );
  expect(of(300, () => 'Kafka is away')).toBe(
    'Rollcall, 300 tenants (t0, t1, t2 and 297 more): over (Kafka can be used again): Kafka is away',
  );
  expect(of(300, String).split('\n').slice(10)).toEqual(['and 290 more: rollcall status --wrong']);
});
