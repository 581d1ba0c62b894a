import type { AbsenceVersionValue } from '../../../src/core/absences/absence-version.ts';
import { describe, expect, test } from 'vitest';
import { decodeEntry } from '../../../src/core/absences/entry-codec.ts';
import { version, ViewedTable } from './support/viewed-table.ts';

const V1 = version('v1');
const V1_REPLACED = version('v1', { replacedBy: 'v2', content: 1 });
const student = { sourcedId: 's1' };
const V2 = version('v2', { replaces: 'v1' });

/** How much each area holds that holds anything. */
async function areasOf(table: ViewedTable): Promise<Record<string, number>> {
  const areas = ['absences', 'pointers', 'open', 'bodies', 'ended', 'forgotten', 'contradictions'] as const;
  const counts = await Promise.all(areas.map(async (area) => [area, await table.index.count(area)] as const));
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

const MONTH_MS = 32 * 24 * 3_600_000;

describe('the index of absences', () => {
  test('has one entry for a lone absence, and a pointer for each further version', async () => {
    const table = new ViewedTable();
    await table.page([V1]);
    expect(await areasOf(table)).toEqual({ absences: 1 });
    await table.page([V1_REPLACED, V2]);
    expect(await areasOf(table)).toEqual({ absences: 1, pointers: 1 });
    expect(table.story).toEqual(['v1/1 CREATED v1', 'v1/2 REPLACED v2']);
  });

  test('takes two round trips a page, however long the absences are', async () => {
    const table = new ViewedTable();
    for (let at = 1; at < 9; at += 1)
      await table.page([version(`v${at}`, at === 1 ? {} : { replaces: `v${at - 1}` })]);
    table.lookUps = 0;
    await table.page([version('v9', { replaces: 'v8' })]);
    // pointers and entries of the ids; then the entries pointed to
    expect(table.lookUps).toBe(3);
    expect(table.story).toHaveLength(9);
  });

  test('counts both topics, without what is unpublished, forgotten or hidden; a forgotten key is nulled and begins anew', async () => {
    const table = new ViewedTable();
    await table.page([V1, version('w', { deletedTime: 5 }), version('x2', { replaces: 'x1' })]);
    expect(await table.countRows()).toEqual({ 'absence-changes': 2, absences: 1 });
    table.nowMs += MONTH_MS;
    await table.end();
    expect(await table.countRows()).toEqual({ 'absence-changes': 2, absences: 2 });
    expect(await areasOf(table)).toMatchObject({ forgotten: 1 });
    const forgotten = table.records.findLast(({ key }) => key === 'w');
    expect(forgotten).toMatchObject({ topic: 'absence-changes', body: null });
    await table.end([version('w', { content: 1 })]);
    expect(table.story.at(-1)).toBe('w/1 CREATED w');
  });

  test('is made again when an entry in it is damaged', async () => {
    const table = new ViewedTable();
    await table.page([V1]);
    const position = await table.index.position();
    if (position === null) throw new Error('there is no index');
    await table.index.apply('t1', position, [{ area: 'absences', key: 'v1', value: Buffer.from([3]) }]);
    await expect(table.page([V1_REPLACED])).rejects.toMatchObject({ code: 'INDEX_DIVERGED' });
    expect(await table.index.position()).toBeNull();
  });
});

describe('an awaited id', () => {
  test('is asked for at the end of the sync, and what the hub has joins in its place', async () => {
    const table = new ViewedTable();
    table.hub = new Map([['v1', V1_REPLACED]]);
    await table.end([V2]);
    expect(table.asked).toEqual([['v1']]);
    expect(table.story).toEqual(['v1/1 CREATED v1', 'v1/2 REPLACED v2']);
    expect(await areasOf(table)).toEqual({ absences: 1, pointers: 1 });
  });

  test('is asked for in at most three rounds', async () => {
    const table = new ViewedTable();
    const chain = Array.from({ length: 9 }, (_each, at) => version(`v${at + 1}`, { replaces: `v${at}` }));
    table.hub = new Map(chain.map((row) => [row.sourcedId, row]));
    await table.end(chain.slice(-1));
    expect(table.asked).toHaveLength(3);
    expect(table.story[0]).toBe('v6/1 CREATED v6');
  });

  test('keeps the absence open while the hub does not answer, at most five minutes', async () => {
    const table = new ViewedTable();
    table.hub = null;
    const stories: string[][] = [];
    for (const laterMs of [0, 4 * 60_000, 61_000]) {
      table.nowMs += laterMs;
      await table.end(laterMs === 0 ? [V2] : []);
      stories.push(table.story);
    }
    expect(stories).toEqual([[], [], ['v2/1 CREATED v2']]);
  });

  test('that the hub has not is ignored from the end of the sync on, and left to a full sync that runs beside', async () => {
    const table = new ViewedTable();
    await table.end([V2], [], { isBesideFull: true });
    expect([table.asked, table.story]).toEqual([[], []]);
    await table.end();
    expect(table.story).toEqual(['v2/1 CREATED v2']);
    await table.end([version('v2', { replaces: 'v1', content: 1 })]);
    expect(table.asked).toHaveLength(1);
  });

  test('is one of at most 2,000 that a sync asks for; the others are ignored unasked', async () => {
    const table = new ViewedTable();
    const rows = Array.from({ length: 2_500 }, (_each, at) => version(`v${at}`, { replaces: `gone${at}` }));
    await table.end(rows);
    expect(table.asked.flat()).toHaveLength(2_000);
    expect(table.story).toHaveLength(2_500);
  });
});

describe('records', () => {
  test('that wait are kept in the index until their event', async () => {
    const table = new ViewedTable();
    await table.page([V2]);
    expect(await areasOf(table)).toEqual({ absences: 1, pointers: 1, open: 1, bodies: 1 });
    await table.page([V1_REPLACED]);
    expect(table.events.map(({ version: { student } }) => student?.sourcedId)).toEqual(['s1', 's1']);
    expect(await areasOf(table)).toEqual({ absences: 1, pointers: 1 });
  });

  test('of what vanished come from one pass over `absences`, at the end of the sync', async () => {
    const passes: string[] = [];
    const table = new ViewedTable((topic) => {
      passes.push(topic);
      return { v1: V1.value as AbsenceVersionValue };
    });
    await table.page([V1]);
    await table.page([], ['v1']);
    expect([table.story.length, passes]).toEqual([1, []]);
    await table.end();
    expect(passes).toEqual(['absences']);
    expect(table.events.at(-1)).toMatchObject({ operation: 'DELETED', version: { student } });
    expect(table.shown).toEqual({});
    expect(await areasOf(table)).toEqual({});
  });

  test('of the previous version are whole in the same transaction, and only an id otherwise', async () => {
    const table = new ViewedTable();
    await table.page([V1]);
    await table.page([V2]);
    const replaced = version('v2', { replaces: 'v1', replacedBy: 'v3' });
    await table.page([version('v3', { replaces: 'v2' }), replaced]);
    const students = table.events.map(({ previousVersion }) => previousVersion?.student?.sourcedId ?? null);
    expect(students).toEqual([null, null, 's1']);
    expect(table.events[1]?.previousVersion?.sourcedId).toBe('v1');
  });
});

describe('another student', () => {
  test('a version read with another student is rejected, and its absence ends with the sync', async () => {
    const table = new ViewedTable(() => ({ v1: V1.value as AbsenceVersionValue }));
    await table.page([V1]);
    await table.page([version('v1', { studentId: 's2' })]);
    expect(table.rejected).toEqual(['v1']);
    expect(table.story).toHaveLength(1);
    expect(await areasOf(table)).toMatchObject({ contradictions: 1 });
    await table.end();
    expect(table.events.at(-1)).toMatchObject({ operation: 'DELETED', version: { student } });
    await table.end([version('v1', { studentId: 's2' })]);
    const other = { student: { sourcedId: 's2' } };
    expect(table.events.at(-1)).toMatchObject({ operation: 'CREATED', version: other });
    expect(await areasOf(table)).toEqual({ absences: 1 });
  });

  test('the mapped student does not matter: the fingerprint is that of the hub’s own id', async () => {
    const table = new ViewedTable();
    await table.page([V1]);
    const pseudonymised = { ...V2, value: { ...V2.value, student: { sourcedId: 'a pseudonym' } } };
    await table.page([V1_REPLACED, pseudonymised]);
    expect(table.rejected).toEqual([]);
    expect(table.story).toEqual(['v1/1 CREATED v1', 'v1/2 REPLACED v2']);
  });
});

test('unchanged rows derive what is lacking, and show nothing again', async () => {
  const table = new ViewedTable();
  await table.page([V1], [], ['v1']);
  expect(table.story).toEqual(['v1/1 CREATED v1']);
  await table.page([V1], [], ['v1']);
  expect(table.records.map(({ topic }) => topic)).toEqual(['absence-changes', 'absences']);
});

test('an absence whose list changes in the transaction that would forget it is forgotten later, with that change', async () => {
  const table = new ViewedTable();
  await table.end([V1_REPLACED, version('v2', { replaces: 'v1', deletedTime: 5 })]);
  table.nowMs += MONTH_MS;
  await table.end([], ['v1']);
  await table.end();
  const [bytes] = await table.entriesOf('v1');
  const entry = decodeEntry('v1', bytes ?? Buffer.alloc(0));
  expect(entry.published?.step).toBe(0);
  expect(entry.members.map(({ state }) => state)).toEqual(['gone', 'present']);
});
