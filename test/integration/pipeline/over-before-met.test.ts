import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { alteredHub } from '../support/altered-hub.ts';
import { loggedChanges } from '../support/chain-oracle.ts';
import { openMirror, startTestHub, type Mirror } from '../support/mirror.ts';

const TWELVE_HOURS_MS = 43_200_000;

let hub: Awaited<ReturnType<typeof startTestHub>>;
let front: Awaited<ReturnType<typeof alteredHub>>;
let mirror: Mirror;

const isOver = (row: Record<string, unknown>): boolean =>
  row['status'] === 'tobedeleted' || typeof row['deletedTime'] === 'string';

beforeAll(async () => {
  hub = await startTestHub({ students: 12 });
  // As public servers do: only a list with a filter shows what is deleted.
  front = await alteredHub(hub, (page) => {
    if (page.query.has('filter')) return;
    const shown = page.rows.filter((row) => !isOver(row));
    page.total -= page.rows.length - shown.length;
    page.rows = shown;
  });
  for (const id of hub.district.ids('users').slice(0, 3)) retire(id);
  mirror = await openMirror({
    hub,
    collections: ['users', 'absence-versions', 'absences', 'absence-changes'],
    hubSettings: { baseUrl: front.baseUrl },
  });
  await mirror.full();
  // Tombstones that a chain awaited were asked for and published; two full lists in a row miss them.
  await mirror.full();
});
afterAll(async () => {
  await mirror[Symbol.asyncDispose]();
  await front[Symbol.asyncDispose]();
  await hub.stop();
});

function retire(id: string): void {
  hub.district.patch('users', id, { status: 'tobedeleted' });
}

function register(id: string, fields: Parameters<Mirror['hub']['district']['patch']>[2] = {}): string {
  const student = hub.district.ids('students').at(-1) ?? '';
  const times = { fromTime: '2026-03-10T08:00:00Z', toTime: '2026-03-10T09:00:00Z' };
  hub.district.registerAbsence({ student, ...times, id });
  hub.district.patch('absence-versions', id, fields);
  return id;
}

/** What was published meanwhile, without `progress`. */
async function published(work: () => Promise<unknown>): Promise<string[]> {
  const before = await mirror.ends();
  await work();
  const records = await mirror.since(before);
  return records
    .map(({ topic, key, value }) => {
      const { operation = 'row' } = (value ?? { operation: 'null' }) as { operation?: string };
      return `${topic.split('.').at(-1)} ${key} ${operation}`;
    })
    .toSorted();
}

/** Everything gets a new stamp, which incremental syncs see, and the daily full sync follows. */
async function night(): Promise<void> {
  hub.clock.advance(TWELVE_HOURS_MS);
  hub.district.restamp();
  const results = await mirror.delta();
  for (const collection of ['users', 'absence-versions'] as const)
    expect(results.get(collection)).toMatchObject({ kind: 'complete', stats: { mode: 'INCREMENTAL' } });
  // The tombstones were there to be seen.
  expect(results.get('users')?.stats.rowsOver).toBeGreaterThan(0);
  expect(results.get('absence-versions')?.stats.rowsOver).toBeGreaterThan(0);
  hub.clock.advance(TWELVE_HOURS_MS);
  await mirror.full();
}

describe('what is over before it was met', () => {
  it('is published by no night of new stamps, if only filtered lists show it', async () => {
    const users = await mirror.view('users');
    expect([...users.values()].filter(({ value }) => value?.['status'] === 'tobedeleted')).toEqual([]);
    for (const each of [1, 2, 3]) expect([each, await published(night)]).toEqual([each, []]);
  });

  it('is published once if it was met before, and by no later night', async () => {
    const user = hub.district.ids('users').at(-1) ?? '';
    const absence = register('known');
    hub.clock.advance(600_000);
    expect(await published(() => mirror.delta())).toHaveLength(3);
    retire(user);
    hub.district.deleteAbsence(absence);
    hub.clock.advance(600_000);
    expect(await published(() => mirror.delta())).toEqual([
      'absence-changes known DELETED',
      'absence-versions known row',
      'absences known null',
      `users ${user} row`,
    ]);
    expect(await published(() => mirror.full())).toEqual([
      'absence-changes known null',
      'absence-versions known null',
      `users ${user} null`,
    ]);
    for (const each of [1, 2, 3]) expect([each, await published(night)]).toEqual([each, []]);
  });

  it('is taken in if it continues a live absence', async () => {
    register('live');
    await mirror.delta();
    const next = hub.district.replaceAbsence('live', { newId: 'live-2' });
    hub.district.deleteAbsence(next);
    await mirror.delta();
    const changes = loggedChanges(await mirror.records('absence-changes'));
    expect(changes.filter(({ absenceId }) => absenceId === 'live')).toMatchObject([
      { operation: 'CREATED', versionId: 'live' },
      { operation: 'REPLACED', versionId: 'live-2' },
      { operation: 'DELETED', versionId: 'live-2' },
    ]);
  });

  it('is taken in if a known absence awaits it, though the hub had no answer when it was asked for it', async () => {
    register('late', { replacedBy: { sourcedId: 'late-2', type: 'absence' } });
    await mirror.delta();
    register('late-2', { deletedTime: '2026-03-10T10:00:00.000Z' });
    hub.clock.advance(600_000);
    await mirror.delta();
    const changes = loggedChanges(await mirror.records('absence-changes'));
    expect(changes.filter(({ absenceId }) => absenceId.startsWith('late'))).toMatchObject([
      { absenceId: 'late', operation: 'CREATED', versionId: 'late' },
      { absenceId: 'late', operation: 'REPLACED', versionId: 'late-2' },
      { absenceId: 'late', operation: 'DELETED', versionId: 'late-2' },
    ]);
    expect(await published(() => mirror.full())).toEqual([
      'absence-versions late-2 null',
      'absence-versions live-2 null',
    ]);
    expect(await published(night)).toEqual([]);
  });
});
