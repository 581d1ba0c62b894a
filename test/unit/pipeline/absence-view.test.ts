import { beforeEach, expect, test } from 'vitest';
import type { AbsenceVersionValue } from '../../../src/core/chains/chain-row.ts';
import { createEventEncoder } from '../../../src/core/event-encoder.ts';
import { createValueCodec } from '../../../src/core/value-codec.ts';
import { readSchemaFiles } from '../../../src/log/schema-files.ts';
import type { TopicSuffix } from '../../../src/model/collections.ts';
import { AbsenceView } from '../../../src/pipeline/chains/absence-view.ts';
import type { LookUp } from '../../../src/pipeline/chains/chain-lookup.ts';
import type {
  ChainOutcome,
  FetchedVersions,
  VersionLookups,
} from '../../../src/pipeline/chains/chain-task.ts';
import type { ReadPublishedVersions } from '../../../src/pipeline/chains/resolve-task.ts';
import { areasOf } from '../../../src/state/index-store.ts';
import { MemoryIndex } from '../../../src/state/memory-index.ts';

const versionCodec = createValueCodec<AbsenceVersionValue>(schemaOf('absence-versions'));
const encodeEvent = createEventEncoder(schemaOf('absence-changes'));

const REPLACING: AbsenceVersionValue = { sourcedId: 'second', replaces: { sourcedId: 'first' } };
const UNANSWERED: FetchedVersions = { versions: [], gone: [], isFailed: true };
const NOT_THERE: FetchedVersions = { versions: [], gone: ['first'], isFailed: false };

const NONE = { versions: [], vanished: [], revisit: [] };
const LOOKUPS: VersionLookups = {
  lookUp: (_area, keys) => Promise.resolve(keys.map(() => null)),
  hashesOf: (ids) => Promise.resolve(new Map(ids.map((id) => [id, Buffer.alloc(16, 1)]))),
  fetch: () => Promise.resolve(UNANSWERED),
};
const TASK: Parameters<AbsenceView['resolve']>[0] = {
  mode: 'final',
  changed: NONE,
  bodies: new Map(),
  place: { transactionId: 'transaction', firstRecord: 0 },
  lookups: LOOKUPS,
  sequence: 1,
  snapshot: true,
  forgottenBeforeMs: null,
  askAtMost: 2_000,
  awaitsStudents: false,
  isGone: null,
};

let nowMs: number;
let index: MemoryIndex;
let view: AbsenceView;

beforeEach(() => {
  nowMs = Date.UTC(2026, 2, 2, 9);
  index = new MemoryIndex({ name: 'north/absence-versions', areas: areasOf('absence-versions') });
  view = viewWith(() => Promise.resolve());
});

function viewWith(readPublishedVersions: ReadPublishedVersions): AbsenceView {
  return new AbsenceView({
    tenantId: 'north',
    mapping: null,
    index,
    encodeEvent,
    encodeVersion: (value) => versionCodec.toBuffer(value),
    decodeVersion: (body) => versionCodec.fromBuffer(body),
    readPublishedVersions,
    absentSinceMs: () => 0,
    forgetAfterMs: 1,
    now: () => nowMs,
  });
}

test.each([
  ['a first load', true],
  ['a later full sync', false],
])(
  'at the end of %s, a version waits while the hub fails to answer for the one that it replaces',
  async (_name, snapshot) => {
    expect(created(await endOfFullSync(UNANSWERED, snapshot))).toBe(0);
    expect(created(await endOfFullSync(NOT_THERE, snapshot))).toBe(1);
  },
);

test('a version whose predecessor the hub fails to answer for is published after five minutes, however many syncs end before', async () => {
  for (let sync = 0; sync < 10; sync += 1) {
    expect(created(await endOfFullSync(UNANSWERED, false))).toBe(0);
    nowMs += 29_000;
  }
  nowMs += 10_000;
  expect(created(await endOfFullSync(UNANSWERED, false))).toBe(1);
});

test('the five minutes begin anew after the hub has answered', async () => {
  await endOfFullSync(UNANSWERED, false);
  nowMs += 299_000;
  await endOfFullSync(NOT_THERE, false);
  nowMs += 2_000;
  expect(created(await endOfFullSync(UNANSWERED, false))).toBe(0);
});

test('the records of many pending versions are read in one pass over the log, however many transactions publish them', async () => {
  const many = Array.from({ length: 6_000 }, (_, at) => ({
    sourcedId: `v${at}`,
    replaces: { sourcedId: `gone${at}` },
  }));
  const lookUp: LookUp = (area, keys) => index.lookup(area, keys, 'first');
  const left = await view.resolve({ ...TASK, mode: 'page', changed: { ...NONE, versions: many } });
  await index.apply(
    null,
    { transactionId: 'first', sequence: 1, committedAtMs: nowMs, offsets: {} },
    left.changes,
  );
  const passes: number[] = [];
  const restarted = viewWith(async ({ versionIds }, onVersion) => {
    passes.push(versionIds.size);
    for (const value of many)
      if (versionIds.has(value.sourcedId)) onVersion(value.sourcedId, { value, hash: null });
  });
  const published: number[] = [];
  for await (const group of restarted.pendingVersions()) {
    for (const revisit of await restarted.readBack(group, lookUp)) {
      const task = {
        ...TASK,
        changed: { ...NONE, revisit },
        lookups: { ...LOOKUPS, lookUp },
        isGone: () => true,
      };
      published.push(created(await restarted.resolve(task)));
    }
  }
  expect({ left: created(left), published, passes }).toEqual({
    left: 0,
    published: [5_000, 1_000],
    passes: [6_000],
  });
});

test('the index is made again when many pending versions are read back and an entry cannot be decoded', async () => {
  const ofAnotherFormat: LookUp = (_area, keys) => Promise.resolve(keys.map(() => Buffer.from([255])));
  const group = Array.from({ length: 6_000 }, (_, at) => `v${at}`);
  await expect(view.readBack(group, ofAnotherFormat)).rejects.toMatchObject({ code: 'INDEX_DIVERGED' });
});

/** The end of a full sync that proves that it saw every row at the hub but the first version. */
function endOfFullSync(answer: FetchedVersions, snapshot: boolean): Promise<ChainOutcome> {
  return view.resolve({
    ...TASK,
    changed: { ...NONE, versions: [REPLACING] },
    lookups: { ...LOOKUPS, fetch: () => Promise.resolve(answer) },
    snapshot,
    isGone: (id) => id === 'first',
  });
}

function created({ tally }: ChainOutcome): number {
  return tally.created;
}

function schemaOf(topic: TopicSuffix) {
  const file = readSchemaFiles().get(topic);
  if (file === undefined) throw new Error(`there is no schema of ${topic}`);
  return file.schema;
}
