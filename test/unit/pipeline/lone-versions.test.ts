import { beforeEach, describe, expect, it } from 'vitest';
import type { AbsenceVersionValue } from '../../../src/core/chains/chain-row.ts';
import { encodeVersionEntry } from '../../../src/core/chains/entry-codec.ts';
import { loneVersionOf } from '../../../src/core/chains/lone-version.ts';
import {
  decodePublishedAbsence,
  encodePublishedAbsence,
} from '../../../src/core/chains/published-absence.ts';
import { createEventEncoder } from '../../../src/core/event-encoder.ts';
import { createValueCodec } from '../../../src/core/value-codec.ts';
import { readSchemaFiles } from '../../../src/log/schema-files.ts';
import type { TopicSuffix } from '../../../src/model/collections.ts';
import { AbsenceView } from '../../../src/pipeline/chains/absence-view.ts';
import type { ChainOutcome } from '../../../src/pipeline/chains/chain-task.ts';
import { presumeVersions } from '../../../src/pipeline/chains/presume-versions.ts';
import { areasOf, type IndexArea, type IndexChange } from '../../../src/state/index-store.ts';
import { MemoryIndex } from '../../../src/state/memory-index.ts';

const versionCodec = createValueCodec<AbsenceVersionValue>(schemaOf('absence-versions'));
const encodeEvent = createEventEncoder(schemaOf('absence-changes'));
const HASHES = [1, 2, 3].map((byte) => Buffer.alloc(16, byte));

const student = { sourcedId: 'student' };
const FIRST: AbsenceVersionValue = { sourcedId: 'first', student };
const REPLACED: AbsenceVersionValue = { ...FIRST, replacedBy: { sourcedId: 'second' } };
const SECOND: AbsenceVersionValue = { sourcedId: 'second', student, replaces: { sourcedId: 'first' } };

/** The chain index, by `<area>/<key>`. */
let contents: Map<string, Buffer>;
let sequence: number;
let view: AbsenceView;

beforeEach(() => {
  contents = new Map();
  sequence = 0;
  view = new AbsenceView({
    tenantId: 'north',
    mapping: null,
    index: new MemoryIndex({ name: 'north/absence-versions', areas: areasOf('absence-versions') }),
    encodeEvent,
    encodeVersion: (value) => versionCodec.toBuffer(value),
    decodeVersion: (body) => versionCodec.fromBuffer(body),
    readPublishedVersions: () => Promise.resolve(),
    absentSinceMs: () => Number.MAX_SAFE_INTEGER,
    forgetAfterMs: 1,
    now: () => Date.UTC(2026, 2, 2, 9),
  });
});

describe('a version that is alone in its chain', () => {
  it('has no entry in the index, and its absence is published once', async () => {
    expect(stepsOf(await publish([FIRST], 0))).toEqual({ created: 1, replaced: 0 });
    expect([...contents.keys()]).toEqual(['absences/first']);
    expect(stepsOf(await publish([FIRST], 0))).toEqual({ created: 0, replaced: 0 });
    expect([...contents.keys()]).toEqual(['absences/first']);
  });

  it('has none when its content changes', async () => {
    await publish([FIRST], 0);
    const { tally } = await publish([FIRST], 1);
    expect(tally.shown).toBe(1);
    expect([...contents.keys()]).toEqual(['absences/first']);
    expect(standsForVersion('first')).toBe(true);
  });

  it('gets an entry once a version replaces it, and the absence goes on with the next step', async () => {
    await publish([FIRST], 0);
    expect(stepsOf(await publish([REPLACED, SECOND], 1))).toEqual({ created: 0, replaced: 1 });
    expect([...contents.keys()].sort()).toEqual(['absences/first', 'versions/first', 'versions/second']);
    expect(standsForVersion('first')).toBe(false);
    expect(absence('first').entry).toMatchObject({ step: 2, publishedVersionId: 'second' });
  });

  it('gets an entry while its chain is pending, although its absence stays as it is', async () => {
    await publish([FIRST], 0);
    expect(stepsOf(await publish([REPLACED], 1))).toEqual({ created: 0, replaced: 0 });
    expect([...contents.keys()]).toEqual(expect.arrayContaining(['versions/first', 'open/first']));
    expect(standsForVersion('first')).toBe(false);
    expect(absence('first').entry).toMatchObject({ step: 1, publishedVersionId: 'first' });
  });

  it('loses its entry once nothing links it any more', async () => {
    await publish([FIRST], 0);
    await publish([REPLACED], 1);
    expect(stepsOf(await publish([FIRST], 2))).toEqual({ created: 0, replaced: 0 });
    expect(contents.has('versions/first')).toBe(false);
    expect(standsForVersion('first')).toBe(true);
  });

  it('in an index that still has its entry publishes nothing again, and loses the entry with its next change', async () => {
    await publish([FIRST], 0);
    const { entry, shown } = absence('first');
    if (entry === null) throw new Error('the absence was not published');
    contents.set('absences/first', encodePublishedAbsence('first', { entry, shown }));
    contents.set('versions/first', encodeVersionEntry('first', loneVersionOf('first', entry)));
    expect(stepsOf(await publish([FIRST], 0))).toEqual({ created: 0, replaced: 0 });
    expect(stepsOf(await publish([FIRST], 1))).toEqual({ created: 0, replaced: 0 });
    expect([...contents.keys()]).toEqual(['absences/first']);
    expect(standsForVersion('first')).toBe(true);
  });

  it('is presumed to be at the hub if the log lost it', async () => {
    await publish([FIRST], 0);
    const entries = [...contents].map(([name, value]) => [name.slice('absences/'.length), value] as const);
    const written: IndexChange[] = [];
    await presumeVersions({
      // eslint-disable-next-line @typescript-eslint/require-await
      entries: async function* (area: IndexArea) {
        if (area === 'absences') yield entries;
      },
      lookup: (_area, keys) => Promise.resolve(keys.map(() => null)),
      write: (changes) => Promise.resolve(void written.push(...changes)),
    });
    expect(written.map(({ area, key }) => `${area}/${key}`)).toEqual(['rows/first']);
  });
});

/** Publishes versions, all of which now have the content of this number. */
async function publish(versions: readonly AbsenceVersionValue[], content: number): Promise<ChainOutcome> {
  sequence += 1;
  const outcome = await view.resolve({
    mode: 'page',
    changed: { versions, vanished: [], revisit: [] },
    bodies: new Map(),
    place: { transactionId: `transaction-${sequence}`, firstRecord: 0 },
    lookups: {
      lookUp: (area, keys) => Promise.resolve(keys.map((key) => contents.get(`${area}/${key}`) ?? null)),
      hashesOf: (ids) => Promise.resolve(new Map(ids.map((id) => [id, HASHES[content] ?? null]))),
      fetch: () => Promise.resolve({ versions: [], gone: [], isFailed: false }),
    },
    sequence,
    snapshot: false,
    forgottenBeforeMs: null,
    askAtMost: 0,
    awaitsStudents: false,
    isGone: null,
  });
  for (const { area, key, value } of outcome.changes) {
    if (value === null) contents.delete(`${area}/${key}`);
    else contents.set(`${area}/${key}`, value);
  }
  return outcome;
}

function absence(id: string) {
  return decodePublishedAbsence(id, contents.get(`absences/${id}`) ?? null);
}

function standsForVersion(id: string): boolean {
  return absence(id).hasLoneVersion;
}

function stepsOf({ tally: { created, replaced } }: ChainOutcome): object {
  return { created, replaced };
}

function schemaOf(topic: TopicSuffix) {
  const file = readSchemaFiles().get(topic);
  if (file === undefined) throw new Error(`there is no schema of ${topic}`);
  return file.schema;
}
