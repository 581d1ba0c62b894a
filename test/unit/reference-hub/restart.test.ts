import { describe, expect, it } from 'vitest';
import { COLLECTION_NAMES } from '../../../reference-hub/district/collections.ts';
import { startReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { NOON } from './hub-client.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** By `<collection> <id>`, each row of a hub that starts at this time, as JSON. */
async function rowsOf(startMs: number, seed = 1): Promise<Map<string, string>> {
  const hub = await startReferenceHub({ students: 40, seed, startMs, publicOrigin: 'http://hub.example' });
  const rows = COLLECTION_NAMES.flatMap((name) =>
    hub.district
      .snapshot(name)
      .map((row) => [`${name} ${row['sourcedId'] as string}`, JSON.stringify(row)] as const),
  );
  await hub.stop();
  return new Map(rows);
}

/** Without the time of the nightly stamp. */
function contentOf(row: string | undefined): string | undefined {
  return row?.replace(/"dateLastModified":"[^"]*"/, '');
}

function changed(before: Map<string, string>, after: Map<string, string>): string[] {
  return [...before.keys()].filter((key) => contentOf(before.get(key)) !== contentOf(after.get(key)));
}

const collectionsOf = (keys: string[]): string[] => [...new Set(keys.map((key) => key.split(' ')[0] ?? ''))];

describe('a reference hub that is started again with its seed', () => {
  it('at another hour of the day serves the same rows, with the same times of modification', async () => {
    const rows = await rowsOf(NOON);
    for (const laterMs of [-9 * HOUR_MS, 600_000, HOUR_MS, 11 * HOUR_MS])
      expect(await rowsOf(NOON + laterMs)).toEqual(rows);
    expect(changed(rows, await rowsOf(NOON, 2))).not.toEqual([]);
  });

  it.each([
    ['in the first week', Date.UTC(2026, 7, 19, 11)],
    ['in November', NOON],
  ])(
    'on a later day of the school year keeps all rows but the sums of absences, and adds some: %s',
    async (_, startMs) => {
      const rows = await rowsOf(startMs);
      for (const days of [1, 7, 60, 200]) {
        const after = await rowsOf(startMs + days * DAY_MS);
        expect(['', 'absence-summaries']).toContain(collectionsOf(changed(rows, after)).join());
        if (days >= 7) expect(collectionsOf(changed(after, rows))).toContain('absences');
      }
    },
  );

  it('has absences of the day from its first hour on, and none of a later day', async () => {
    const midnight = Date.UTC(2026, 10, 19, 23);
    const rows = [...(await rowsOf(midnight))].filter(([key]) => key.startsWith('absences '));
    const days = rows.map(([, row]) => (JSON.parse(row) as { fromTime: string }).fromTime.slice(0, 10));
    expect(days.toSorted().at(-1)).toBe('2026-11-20');
  });
});
