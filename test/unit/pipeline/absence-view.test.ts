import { beforeEach, expect, test } from 'vitest';
import type { AbsenceVersionValue } from '../../../src/core/chains/chain-row.ts';
import { createEventEncoder } from '../../../src/core/event-encoder.ts';
import { createValueCodec } from '../../../src/core/value-codec.ts';
import { readSchemaFiles } from '../../../src/log/schema-files.ts';
import type { TopicSuffix } from '../../../src/model/collections.ts';
import { AbsenceView } from '../../../src/pipeline/chains/absence-view.ts';
import type { ChainOutcome, FetchedVersions } from '../../../src/pipeline/chains/chain-task.ts';
import { areasOf } from '../../../src/state/index-store.ts';
import { MemoryIndex } from '../../../src/state/memory-index.ts';

const versionCodec = createValueCodec<AbsenceVersionValue>(schemaOf('absence-versions'));
const encodeEvent = createEventEncoder(schemaOf('absence-changes'));

const REPLACING: AbsenceVersionValue = { sourcedId: 'second', replaces: { sourcedId: 'first' } };
const UNANSWERED: FetchedVersions = { versions: [], gone: [], isFailed: true };
const NOT_THERE: FetchedVersions = { versions: [], gone: ['first'], isFailed: false };

let nowMs: number;
let view: AbsenceView;

beforeEach(() => {
  nowMs = Date.UTC(2026, 2, 2, 9);
  view = new AbsenceView({
    tenantId: 'north',
    mapping: null,
    index: new MemoryIndex({ name: 'north/absence-versions', areas: areasOf('absence-versions') }),
    encodeEvent,
    encodeVersion: (value) => versionCodec.toBuffer(value),
    decodeVersion: (body) => versionCodec.fromBuffer(body),
    readPublishedVersions: () => Promise.resolve(new Map()),
    absentSinceMs: () => 0,
    forgetAfterMs: 1,
    now: () => nowMs,
  });
});

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

/** The end of a full sync that proves that it saw every row at the hub but the first version. */
function endOfFullSync(answer: FetchedVersions, snapshot: boolean): Promise<ChainOutcome> {
  return view.resolve({
    mode: 'final',
    changed: { versions: [REPLACING], vanished: [], revisit: [] },
    bodies: new Map(),
    place: { transactionId: 'transaction', firstRecord: 0 },
    lookups: {
      lookUp: (_area, keys) => Promise.resolve(keys.map(() => null)),
      hashesOf: (ids) => Promise.resolve(new Map(ids.map((id) => [id, Buffer.alloc(16, 1)]))),
      fetch: () => Promise.resolve(answer),
    },
    sequence: 1,
    snapshot,
    forgottenBeforeMs: null,
    askAtMost: 2_000,
    awaitsStudents: false,
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
