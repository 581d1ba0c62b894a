import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COLLECTION_NAMES } from '../../../reference-hub/district/collections.ts';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { startReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { NOON } from './hub-client.ts';

type Row = Record<string, unknown>;
const id = (reference: unknown): string => (reference as { sourcedId: string } | null)?.sourcedId ?? '';

/** Uses a fixed clock, so that the times follow from the seed alone. */
async function withHub<T>(
  options: { seed: number; students?: number },
  use: (hub: ReferenceHub) => T,
): Promise<T> {
  const hub = await startReferenceHub({
    students: 60,
    startMs: NOON,
    now: () => 0,
    publicOrigin: 'http://hub.example',
    ...options,
  });
  try {
    return use(hub);
  } finally {
    await hub.stop();
  }
}

function everything(hub: ReferenceHub): Record<string, Row[]> {
  return Object.fromEntries(COLLECTION_NAMES.map((name) => [name, hub.district.snapshot(name) as Row[]]));
}

function brokenRelations(rows: Record<string, Row[]>): string[] {
  const ids = Object.fromEntries(
    Object.entries(rows).map(([name, list]) => [
      name,
      new Set(list.map((row) => row['sourcedId'] as string)),
    ]),
  );
  const homes: Record<string, string> = {
    user: 'users',
    org: 'orgs',
    academicSession: 'academic-sessions',
    class: 'classes',
    course: 'courses',
    category: 'categories',
    lineItem: 'line-items',
    assessmentLineItem: 'assessment-line-items',
    absence: 'absences',
  };
  const broken: string[] = [];
  const scan = (value: unknown, where: string): void => {
    if (Array.isArray(value)) for (const item of value) scan(item, where);
    else if (typeof value === 'object' && value !== null) {
      const { sourcedId, type } = value as { sourcedId?: string; type?: string };
      if (
        sourcedId !== undefined &&
        type !== undefined &&
        'href' in value &&
        ids[homes[type] ?? '']?.has(sourcedId) !== true
      ) {
        broken.push(`${where} -> ${type} ${sourcedId}`);
      }
      for (const [field, inner] of Object.entries(value)) scan(inner, `${where}.${field}`);
    }
  };
  for (const [name, list] of Object.entries(rows)) for (const row of list) scan(row, name);
  return broken;
}

function brokenChains(absences: Row[]): string[] {
  const byId = new Map(absences.map((row) => [row['sourcedId'] as string, row]));
  return absences.flatMap((row) => {
    const own = row['sourcedId'] as string;
    const faults: string[] = [];
    if (row['replaces'] !== null && id(byId.get(id(row['replaces']))?.['replacedBy']) !== own)
      faults.push(`${own} replaces one-sidedly`);
    if (row['replacedBy'] !== null && id(byId.get(id(row['replacedBy']))?.['replaces']) !== own)
      faults.push(`${own} replaced one-sidedly`);
    if (row['replacedBy'] !== null && row['deletedTime'] !== undefined)
      faults.push(`${own} is both replaced and deleted`);
    if ((row['fromTime'] as string) >= (row['toTime'] as string)) faults.push(`${own} ends before it begins`);
    return faults;
  });
}

describe('the living district', () => {
  it('keeps every reference and every chain sound, whatever happens (property)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(1_000_000), fc.integer({ min: 0, max: 400 }), async (seed, steps) => {
        const rows = await withHub({ seed }, (hub) => {
          hub.living.step(steps);
          return everything(hub);
        });
        expect(brokenRelations(rows)).toEqual([]);
        expect(brokenChains(rows['absences']!)).toEqual([]);
        const roles = (name: string, role: string): string[] =>
          rows['users']!.filter((row) => (row['roles'] as { role: string }[])[0]?.role === role).map(
            (row) => `${name} ${row['sourcedId'] as string}`,
          );
        expect(rows['students']!.map((row) => `s ${row['sourcedId'] as string}`)).toEqual(
          roles('s', 'student'),
        );
        expect(rows['teachers']!.map((row) => `t ${row['sourcedId'] as string}`)).toEqual(
          roles('t', 'teacher'),
        );
      }),
      { numRuns: 15 },
    );
  }, 120_000);

  it('is recognised as broken when it is', async () => {
    const rows = await withHub({ seed: 2 }, (hub) => {
      const { district } = hub;
      district.remove('classes', district.ids('classes')[0]!);
      const replaced = district.snapshot('absences').find((row) => row['replacedBy'] !== null)!;
      district.patch('absences', replaced['sourcedId'] as string, { replacedBy: null });
      return everything(hub);
    });
    expect(brokenRelations(rows).length).toBeGreaterThan(20);
    expect(brokenChains(rows['absences']!)).toHaveLength(1);
  });

  it('is the same for the same seed, and another one for another seed', async () => {
    const live = (seed: number): Promise<string> =>
      withHub({ seed }, (hub) => {
        hub.living.step(200);
        return JSON.stringify(everything(hub));
      });
    const first = await live(3);
    expect(await live(3)).toBe(first);
    expect(await live(4)).not.toBe(first);
  });

  it('makes every kind of change', async () => {
    const happened = await withHub({ seed: 5, students: 300 }, (hub) => hub.living.step(3000));
    expect(Object.keys(happened).toSorted()).toEqual([
      'absence deleted',
      'absence registered',
      'absence replaced',
      'class moved to another room',
      'contact changed',
      'enrolment moved',
      'line item added',
      'line item moved',
      'result arrived',
      'result corrected',
      'student joined',
      'student left',
    ]);
  });

  it('changes while it is alive, and not while it is frozen', async () => {
    const hub = await startReferenceHub({ students: 60, live: true, changesPerMinute: 3000 });
    await expect.poll(() => Object.keys(hub.living.happened()).length).toBeGreaterThan(0);
    hub.living.freeze();
    const before = JSON.stringify(everything(hub));
    await new Promise((resolve) => {
      setTimeout(resolve, 150);
    });
    expect(JSON.stringify(everything(hub))).toBe(before);
    hub.living.unfreeze();
    await expect.poll(() => JSON.stringify(everything(hub)) === before).toBe(false);
    await hub.stop();
  });

  it('1 rule 3: stamps every row again once a night', async () => {
    const evening = Date.UTC(2026, 10, 20, 23, 59, 50);
    const hub = await startReferenceHub({
      students: 20,
      live: true,
      changesPerMinute: 3000,
      startMs: evening,
      restampAt: '01:00',
    });
    hub.clock.advance(11_000);
    await expect.poll(() => hub.living.happened()['restamp']).toBe(1);
    const happened = hub.living.happened();
    await expect.poll(() => JSON.stringify(hub.living.happened()) === JSON.stringify(happened)).toBe(false);
    expect(hub.living.happened()['restamp']).toBe(1);
    await hub.stop();
  });
});
