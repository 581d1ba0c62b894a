import { expect, it } from 'vitest';
import { sendJson, serve } from '../../unit/hub/support/scripted-hub.ts';
import { loggedChanges } from '../../oracle/absences.ts';
import { AN_HOUR, openMirror, startTestHub } from '../support/mirror.ts';

const TWELVE_HOURS_MS = 43_200_000;
type Row = Record<string, unknown>;

/** As public servers do: of what is over, only a list with a filter shows anything. Each list is one page. */
function hidingWhatIsOver(baseUrl: string) {
  const { origin } = new URL(baseUrl);
  const isOver = (row: Row): boolean =>
    row['status'] === 'tobedeleted' || typeof row['deletedTime'] === 'string';
  return serve(async ({ url, query, authorization = '' }, response) => {
    const answer = await fetch(origin + url.pathname + url.search, { headers: { authorization } });
    const [[envelope, rows] = ['', []]] = Object.entries((await answer.json()) as Record<string, Row[]>);
    const shown = query.has('filter') ? rows : rows.filter((row) => !isOver(row));
    const total = Number(answer.headers.get('x-total-count')) - rows.length + shown.length;
    const headers = {
      date: answer.headers.get('date') ?? '',
      link: `<${url.href}>; rel="first"`,
      'x-total-count': String(total),
    };
    sendJson(response, { [envelope]: shown }, { status: answer.status, headers });
  });
}

it('a row that had ended before Rollcall met it is not published when the hub stamps it anew', async () => {
  const hub = await startTestHub({ students: 12 });
  await using front = await hidingWhatIsOver(hub.baseUrl);
  const { district, clock } = hub;
  const retire = (id: string): void => void district.patch('users', id, { status: 'tobedeleted' });
  const register = (id: string, fields: Parameters<typeof district.patch>[2] = {}): void => {
    district.registerAbsence({ student: district.ids('students').at(-1) ?? '', ...AN_HOUR, id });
    district.patch('absence-versions', id, fields);
  };
  for (const id of district.ids('users').slice(0, 3)) retire(id);
  await using mirror = await openMirror({
    hub,
    collections: ['users', 'absence-versions', 'absences', 'absence-changes'],
    hubSettings: { baseUrl: front.origin + new URL(hub.baseUrl).pathname },
  });
  await using _ = { [Symbol.asyncDispose]: () => hub.stop() };

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
    clock.advance(TWELVE_HOURS_MS);
    district.restamp();
    for (const [, { stats }] of await mirror.incremental()) {
      expect(stats).toMatchObject({ mode: 'INCREMENTAL' });
      // What is over was there to be seen.
      expect(stats.rowsOver).toBeGreaterThan(0);
    }
    clock.advance(TWELVE_HOURS_MS);
    await mirror.full();
  }
  const stepsOf = async (absenceId: string): Promise<string[]> =>
    loggedChanges(await mirror.records('absence-changes')).flatMap((each) =>
      each.absenceId === absenceId ? `${each.operation} ${each.versionId}` : [],
    );

  await mirror.full();
  // What a chain awaited was asked for and published; two full lists in a row miss it.
  await mirror.full();
  const users = [...(await mirror.view('users')).values()];
  expect(users.filter(({ value }) => value?.['status'] === 'tobedeleted')).toEqual([]);
  expect(await published(night)).toEqual([]);

  const user = district.ids('users').at(-1) ?? '';
  register('known');
  register('live');
  register('late', { replacedBy: { sourcedId: 'late-2', type: 'absence' } });
  await mirror.incremental();
  retire(user);
  district.deleteAbsence('known');
  district.deleteAbsence(district.replaceAbsence('live', { newId: 'live-2' }));
  register('late-2', { deletedTime: '2026-03-10T10:00:00.000Z' });
  clock.advance(600_000);
  expect(await published(() => mirror.incremental())).toEqual(
    expect.arrayContaining(['absence-changes known DELETED', 'absences known null', `users ${user} row`]),
  );
  for (const id of ['live', 'late'])
    expect(await stepsOf(id)).toEqual([`CREATED ${id}`, `REPLACED ${id}-2`, `DELETED ${id}-2`]);
  expect(await published(() => mirror.full())).toEqual(
    expect.arrayContaining([
      'absence-versions known null',
      'absence-versions live-2 null',
      `users ${user} null`,
    ]),
  );
  expect(await published(night)).toEqual([]);
});
