import picocolors from 'picocolors';
import { expect, it } from 'vitest';
import { RollcallError } from '../../../src/errors.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import { newSyncStats, noTally } from '../../../src/core/sync-stats.ts';
import { createEventLog } from '../../../src/telemetry/log-events.ts';
import { readableLine } from '../../../src/telemetry/terminal-log.ts';
import { boardOf, caughtUp, loaded, syncEnded } from './support/board-of.ts';
import { capturedLog } from './support/captured-log.ts';

const stats = newSyncStats({ syncId: 'p1', mode: 'FULL', startedAtMs: 0 });
const NOTHING = noTally();

function written(level: 'debug' | 'info', ...events: readonly PipelineEvent[]): string[] {
  const { logger, lines } = capturedLog(level);
  const log = createEventLog(logger);
  for (const event of events) log('north', event, true);
  return lines;
}

const logged = (...events: readonly PipelineEvent[]) =>
  written('debug', ...events).map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);

const PLAIN = picocolors.createColors(false);

/** What a terminal shows of events, through the real log. */
const shown = (...events: readonly PipelineEvent[]): string =>
  written('info', ...events)
    .map((line) => readableLine(line, PLAIN))
    .join('');

it.each([
  ['lists ids twice', 'rowsRepeated', { ...stats, rowsRepeated: 2 }],
  ['has older rows than before', 'rowsOlder', { ...stats, rowsOlder: 2 }],
  ['does not show what it refers to', 'notShown', { ...stats, absences: { ...NOTHING, notShown: 2 } }],
])('the log says once for each collection that a hub %s, without an id', (_, name, stats) => {
  const orgs = syncEnded({ stats, collection: 'orgs' });
  const lines = logged(syncEnded({ stats }), syncEnded({ stats }), orgs);
  const warning = { level: 'warn', [name]: 2 };
  expect(lines.filter(({ level }) => level === 'warn')).toMatchObject([
    { collection: 'users', ...warning },
    { collection: 'orgs', ...warning },
  ]);
});

it('a setting that matches nothing at the hub is logged once for each collection, with what to do', () => {
  const unmet = ['drop: no row has the field emial; did you mean email?'];
  const lines = logged(syncEnded({ unmet }), syncEnded({ unmet }), syncEnded({ unmet, collection: 'orgs' }));
  expect(lines.filter(({ level }) => level === 'warn')).toMatchObject([
    { collection: 'users', msg: unmet[0], error: { remedy: expect.stringContaining('Correct') as string } },
    { collection: 'orgs', msg: unmet[0] },
  ]);
});

it('the log of a short scan says that removals wait, or how to page if the scan proved nothing', () => {
  const sync = { short: { rows: 190, total: 250, repeated: 0 }, why: 'short' };
  const warned = (outcome: 'complete' | 'inconclusive') =>
    logged(syncEnded({ ...sync, outcome })).filter(({ level }) => level === 'warn');
  const said = (['complete', 'inconclusive'] as const).map((each) => JSON.stringify(warned(each)));
  expect(said.map((text) => text.includes('removals wait'))).toEqual([true, false]);
  expect(said.map((text) => text.includes('Choose another hub.paging'))).toEqual([false, true]);
});

it('only the second inconclusive sync in a row is a warning, and the next complete sync is logged', () => {
  const { board } = boardOf(0);
  const { logger, parsed, messages } = capturedLog();
  const log = createEventLog(logger);
  const inconclusive = syncEnded({ outcome: 'inconclusive', why: 'a response had no list' });
  for (const event of [inconclusive, syncEnded(), inconclusive, inconclusive, inconclusive, syncEnded()])
    log('north', event, board.note('north', event));
  expect(parsed().map(({ level }) => level)).toEqual(['info', 'info', 'info', 'warn', 'info', 'info']);
  expect(messages().at(-1)).toBe('the syncs of this collection succeed again');
});

it('the log line of a sync has what an operator reads at level info, and all counts at level debug', () => {
  const ended = syncEnded({ stats: { ...stats, rowsCreated: 1 }, progress: loaded('users', 0) });
  const [line = ''] = written('info', ended);
  expect(Object.keys(JSON.parse(line) as object)).toEqual(
    'level time tenant collection outcome why mode durationMs rowsSeen rowsCreated rowsUpdated rowsRemoved rowsRejected sequence msg'.split(
      ' ',
    ),
  );
  expect(logged(ended)).toMatchObject([{ sequence: 2, rowsUnchanged: 0 }]);
});

it('a decision is logged without who took it and what they wrote', () => {
  const person = { by: 'kari', from: 'office', reason: 'a class was merged' };
  const at = { collection: 'users', atMs: 0, rows: 3, removed: 3 } as const;
  const lines = logged({ type: 'deletion', event: { ...at, ...person, kind: 'approved' } });
  expect(lines).toMatchObject([{ level: 'warn', kind: 'approved', rows: 3, removed: 3 }]);
  expect(JSON.stringify(lines)).not.toMatch(/kari|office|merged/);
});

it.each([
  ['full', 'changes nothing', 'debug', {}],
  ['full', 'creates a row', 'info', { rowsCreated: 1 }],
  ['full', 'rejects a row', 'info', { rowsRejected: 1 }],
  ['incremental', 'changes nothing', 'debug', { mode: 'INCREMENTAL' as const }],
  ['incremental', 'removes a row', 'info', { mode: 'INCREMENTAL' as const, rowsRemoved: 1 }],
])('the end of a %s sync that %s is logged at level %s', (_, _what, level, more) => {
  expect(logged(syncEnded({ stats: { ...stats, ...more } }))).toMatchObject([{ level, msg: 'a sync ended' }]);
});

it('rows that are missing for the first time, and rows that are back, are logged at level info', () => {
  const eventOf = (kind: 'missing' | 'healed' | 'hold') =>
    ({ type: 'deletion', event: { kind, collection: 'users', rows: 3 } }) as PipelineEvent;
  const lines = logged(eventOf('missing'), eventOf('healed'), eventOf('hold'));
  expect(lines.map(({ level, kind }) => [level, kind])).toEqual([
    ['info', 'missing'],
    ['info', 'healed'],
    ['warn', 'hold'],
  ]);
});

it('the line that says that a hold begins names the command that says what to decide', () => {
  const hold = { kind: 'hold', collection: 'users', atMs: 0, rows: 60, why: 'too many' } as const;
  const remedy = expect.stringContaining('rollcall status --tenant north') as string;
  expect(logged({ type: 'deletion', event: hold })).toMatchObject([{ level: 'warn', error: { remedy } }]);
});

it.each<['HUB_FORBIDDEN' | 'HUB_UNAVAILABLE' | 'HUB_UNREACHABLE', readonly CollectionName[]]>([
  ['HUB_FORBIDDEN', ['users']],
  ['HUB_UNREACHABLE', ['users']],
  ['HUB_UNAVAILABLE', ['users', 'classes', 'orgs']],
])('after %s of %j, the log says once that syncs succeed again', (code, collections) => {
  const mirroring = boardOf(0, ['users', 'classes', 'orgs']);
  mirroring.isWell();
  const { logger, messages } = capturedLog();
  const log = createEventLog(logger);
  const note = (...events: readonly PipelineEvent[]) => {
    for (const event of events) log('north', event, mirroring.board.note('north', event));
  };
  const answered = (target: CollectionName): PipelineEvent => {
    const event = { type: 'request-done', target, status: 200, durationMs: 1, bytes: 2 } as const;
    return { type: 'hub', event };
  };
  for (let outage = 0; outage < 3; outage += 1) {
    for (const collection of collections) {
      const error = new RollcallError(code, `No ${collection}`, { remedy: 'Ask.' });
      note({ type: 'sync-failed', collection, mode: 'FULL', error, durationMs: 1, retryInMs: 5 });
    }
    note(answered('orgs'), answered('users'), syncEnded(), syncEnded());
    note(syncEnded({ collection: 'classes' }), syncEnded({ collection: 'orgs' }));
  }
  const once = [`No ${collections[0]} (${code})`, 'the syncs of this collection succeed again'];
  expect(messages()).toEqual([...once, ...once, ...once]);
});

it('published absences are logged at level debug, and those published while open as a warning', () => {
  const event = (publishedOpen: number): PipelineEvent => ({
    type: 'absences-published',
    tally: { ...NOTHING, created: 2, shown: 2 },
    publishedOpen,
    contradictions: null,
  });
  const absences = { created: 2, shown: 2 };
  expect(logged(event(0))).toMatchObject([{ level: 'debug', absences, publishedOpen: 0 }]);
  expect(logged(event(3))).toMatchObject([{ level: 'debug' }, { level: 'warn', publishedOpen: 3 }]);
});

it('the log line of a sync shows the absences that followed, for absence-versions alone', () => {
  const absences = { ...NOTHING, replaced: 2, shown: 2 };
  const sync = { mode: 'FULL', stats: { ...stats, mode: 'INCREMENTAL' } } as const;
  const versions = { ...sync, collection: 'absence-versions', stats: { ...sync.stats, absences } } as const;
  const [line, other = {}] = logged(syncEnded(versions), syncEnded(sync));
  expect(line).toMatchObject({ level: 'info', absences: { replaced: 2, shown: 2 }, rowsSeen: 0 });
  expect(other['level']).toBe('debug');
  expect(Object.keys(other).filter((key) => ['absences', 'chains'].includes(key))).toEqual([]);
});

it('the log on a terminal shows a sync in one line, by its fields that have a value', () => {
  const absences = { ...stats.absences, created: 3 };
  const counts = { ...stats, rowsSeen: 7_501, rowsCreated: 12, absences };
  expect(shown(syncEnded({ stats: counts, durationMs: 2_345, rows: 7_501, rejects: 1 }))).toMatch(
    /^\d\d:\d\d:\d\d {2}north {2}users +a sync ended · outcome complete · mode FULL · durationMs 2345 · rowsSeen 7501 · rowsCreated 12 · absences \{"created":3\}\n$/,
  );
});

it('the log on a terminal shows a failure with its remedy on the next line, in colour', () => {
  const error = new RollcallError('HUB_UNREACHABLE', 'The hub is away', { remedy: 'Check hub.baseUrl.' });
  const failed = { type: 'sync-failed', collection: 'users', mode: 'INCREMENTAL', error } as const;
  const [json = ''] = written('info', { ...failed, retryInMs: 5, durationMs: 1 });
  const lines = readableLine(json, picocolors.createColors(true)).split('\n');
  expect(lines[0]).toContain('\u001B[33m! The hub is away');
  expect(lines[1]).toContain('→\u001B[39m Check hub.baseUrl.');
});

it('the log on a terminal has one line about the index at a start, and no control characters', () => {
  const rebuilt = { ...caughtUp('users', null), how: 'rebuilt', why: 'Redis is empty' } as PipelineEvent;
  const starts = [
    { type: 'owned', owner: 'vm-1' },
    rebuilt,
    caughtUp('orgs', null),
    { type: 'session-opened' },
  ] as const;
  expect(shown(...starts).match(/the index.*/g)).toEqual([
    'the index equals the log · rebuilt 1 · current 1 · rows 20 · why Redis is empty',
  ]);
  const line = '{"time":0,"level":"info","msg":"a\\u001b[2J"}';
  expect(readableLine(line)).not.toContain('\u001B');
});
