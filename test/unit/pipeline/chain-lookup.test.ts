import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ChainRow, VersionEntry } from '../../../src/core/chains/chain-state.ts';
import { encodeVersionEntry } from '../../../src/core/chains/entry-codec.ts';
import { loneVersionOf } from '../../../src/core/chains/lone-version.ts';
import { missing } from '../../../src/core/chains/missing.ts';
import { encodePublishedAbsence } from '../../../src/core/chains/published-absence.ts';
import { KnownChains } from '../../../src/pipeline/chains/chain-lookup.ts';
import type { IndexArea } from '../../../src/state/index-store.ts';

const IDS = Array.from({ length: 12 }, (_, number) => `v${number}`);
const PUBLISHED = {
  step: 1,
  publishedVersionId: 'v0',
  isPublishedAsDeleted: false,
  mergedInto: null,
  since: 1,
  student: 0,
};

/** What was looked up, one list for each look-up. */
function knownChains(contents: ReadonlyMap<string, Buffer>) {
  const lookUps: string[][] = [];
  const known = new KnownChains((area: IndexArea, keys) => {
    lookUps.push(keys.map((key) => `${area}/${key}`));
    return Promise.resolve(keys.map((key) => contents.get(`${area}/${key}`) ?? null));
  });
  return { known, lookUps };
}

function rowOf(id: string, links: Partial<ChainRow> = {}): ChainRow {
  return { id, replaces: null, replacedBy: null, isDeleted: false, studentId: null, ...links };
}

it('versions that the index does not know take one look-up of each area, with the versions that they refer to', async () => {
  const { known, lookUps } = knownChains(new Map());
  const rows = [rowOf('v0'), rowOf('v1', { replaces: 'v2' }), rowOf('v3', { replacedBy: 'v1' })];
  expect(await known.complete({ rows })).toEqual(['v2']);
  expect(lookUps.map((keys) => keys.toSorted())).toEqual([
    ['versions/v0', 'versions/v1', 'versions/v2', 'versions/v3'],
    ['absences/v0', 'absences/v1', 'absences/v2', 'absences/v3'],
  ]);
});

it('whatever the index holds, everything that a resolution needs is looked up, and nothing twice', async () => {
  const id = fc.constantFrom(...IDS);
  const idOrNull = fc.option(id);
  const version = fc.record({
    replaces: idOrNull,
    replacedBy: idOrNull,
    linkedFrom: fc.uniqueArray(id, { maxLength: 2 }),
    absenceId: idOrNull,
    isResolved: fc.boolean(),
  });
  const versions = fc.dictionary(id, version);
  const absences = fc.dictionary(
    id,
    fc.record({ publishedVersionId: id, mergedInto: idOrNull, standsForVersion: fc.boolean() }),
  );
  const rows = fc.array(fc.record({ id, replaces: idOrNull, replacedBy: idOrNull }), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(versions, absences, rows, fc.uniqueArray(id, { maxLength: 2 }), async (...given) => {
      const [entries, published, changed, revisit] = given;
      const contents = new Map<string, Buffer>();
      for (const [key, fields] of Object.entries(entries)) {
        const entry: VersionEntry = { ...loneVersionOf(key, PUBLISHED), ...fields };
        contents.set(`versions/${key}`, encodeVersionEntry(key, entry));
      }
      for (const [key, { standsForVersion, ...fields }] of Object.entries(published)) {
        const entry = { ...PUBLISHED, ...fields };
        contents.set(
          `absences/${key}`,
          encodePublishedAbsence(key, { entry, shown: null }, standsForVersion),
        );
      }
      const { known, lookUps } = knownChains(contents);
      const input = { rows: changed.map((row) => rowOf(row.id, row)), revisit };
      const hub = await known.complete(input);
      expect(missing({ ...input, chainState: known })).toEqual({ versions: [], absences: [], hub });
      const all = lookUps.flat();
      expect(all.toSorted()).toEqual([...new Set(all)].toSorted());
      for (const key of known.versions.keys()) {
        const isLone = !(key in entries) && published[key]?.standsForVersion === true;
        expect(known.versions.get(key) !== null).toBe(key in entries || isLone);
      }
    }),
    { numRuns: 1_000 },
  );
});
