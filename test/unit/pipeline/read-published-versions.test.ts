import { expect, it } from 'vitest';
import type { TopicSuffix } from '../../../src/model/collections.ts';
import { readPublishedVersions } from '../../../src/pipeline/chains/read-published-versions.ts';
import type { PublishedVersion } from '../../../src/pipeline/chains/resolve-task.ts';
import type { LoggedRecord } from '../../../src/log/log.ts';

const FRAME = Buffer.from([0, 0, 0, 0, 1]);

function logged(topic: TopicSuffix, key: string, value: object | null): LoggedRecord {
  const body = value === null ? null : Buffer.concat([FRAME, Buffer.from(JSON.stringify(value))]);
  return { topic, key, value: body, mapping: null, hash: null } as LoggedRecord;
}

async function decodedRowOf(records: readonly LoggedRecord[]) {
  const found = new Map<string, PublishedVersion>();
  await readPublishedVersions({
    log: { read: ({ onBatch }) => onBatch(records) },
    decode: (framed) => Promise.resolve(JSON.parse(framed.subarray(FRAME.length).toString())),
    reader: {
      mapping: undefined,
      hashOf: () => Buffer.alloc(16),
      readAgain: (value) => ({ kind: 'row', value }) as never,
    },
    signal: new AbortController().signal,
  })({ versionIds: new Set(['v']), absenceIds: new Set(['a']) }, (id, version) => found.set(id, version));
  return found;
}

const shown = logged('absences', 'a', { sourcedId: 'v', deletedTime: null });
const ended = logged('absence-changes', 'a', { version: { sourcedId: 'v', deletedTime: 5 } });

it('a departed record has the content of its last event, not that of the current topic', async () => {
  const found = await decodedRowOf([shown, logged('absences', 'a', null), ended]);
  expect(found.get('v')?.value.deletedTime).toBe(5);
});

it('a current record has the content of the current topic, which may be newer than its event', async () => {
  const found = await decodedRowOf([logged('absence-changes', 'a', { version: { sourcedId: 'v' } }), shown]);
  expect(found.get('v')?.value.deletedTime).toBeNull();
});
