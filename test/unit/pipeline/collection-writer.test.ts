import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { KeyedRow } from '../../../src/core/rows/compare-with-published.ts';
import { withOffsets, type SyncMode } from '../../../src/model/progress.ts';
import type { ReadableRow, RowReader } from '../../../src/core/rows/decoded-row.ts';
import type { CollectionWriter } from '../../../src/table/collection-writer.ts';
import { hasSeen, hasSeenAll, type ActiveSync } from '../../../src/table/active-sync.ts';
import type { EndedSync } from '../../../src/table/deletions.ts';
import { madeCollection, madeSync } from './support/made-collection.ts';
import type { Transaction } from '../../../src/log/log.ts';
import { createMemoryStore } from '../../../src/state/memory-state.ts';

const hash = (content: string) => Buffer.from(content.padEnd(16).slice(0, 16), 'latin1');

function row(key: string, content: string): KeyedRow {
  const parts = { sourcedId: key, value: { content }, hash: hash(content), modifiedAtMs: null };
  return { key, rejectKey: key, decoded: { kind: 'row', ...parts } };
}

function unreadable(key: string, content: string): KeyedRow {
  const { value: _, ...parts } = row(key, content).decoded as ReadableRow;
  return {
    key,
    rejectKey: key,
    decoded: { ...parts, kind: 'reject', rejectId: key, reason: 'r', text: content },
  };
}

async function bench() {
  const transactions: Transaction[] = [];
  let [ids, offset] = [0, 0];
  const state = createMemoryStore().tenant('north');
  const index = state.collection('users');
  const { writer, deletions } = await madeCollection({
    state,
    settings: {
      reader: {
        encode: (value) => Buffer.from((value as { content: string }).content),
        mapping: null,
      } as RowReader,
      encodeReject: (value) => Buffer.from(value.row ?? ''),
    },
    commit: (transaction) => {
      transactions.push(transaction);
      offset += transaction.records.length;
      const offsets = { ...transaction.progress.offsets, 'p.north.users/0': offset };
      return { progress: withOffsets(transaction.progress, offsets), committedAtMs: offset };
    },
    runtime: { randomId: () => `tx-${(ids += 1)}` },
  });
  /** The key and content of each record in order, as a consumer reads them; null for a removal. */
  const published = (topic = 'users') =>
    transactions
      .flatMap(({ records }) => records)
      .filter((record) => record.topic === topic)
      .map(({ key, body }) => [key, body?.toString() ?? null] as const);
  /** Accepts rows as of a page that was requested now. */
  const accept = (sync: ActiveSync, ...rows: KeyedRow[]) =>
    writer.accept(sync, { rows, readVersion: writer.readVersion() });
  /** Publishes rows by a full sync. */
  const load = async (...rows: KeyedRow[]): Promise<void> => {
    const sync = beginSync(writer, 'FULL');
    await accept(sync, ...rows);
    await writer.flush(sync);
    writer.end(sync);
  };
  const hashesOf = (...keys: string[]) => index.lookup('rows', keys, writer.progress?.transactionId ?? '');
  return { writer, deletions, transactions, accept, load, published, hashesOf };
}

function unseen(writer: CollectionWriter, sync: ActiveSync) {
  return writer.read((table) => table.unseen('rows', sync));
}

function beginSync(
  writer: CollectionWriter,
  mode: SyncMode = 'INCREMENTAL',
  given: Partial<ActiveSync> = {},
) {
  const sync = madeSync(mode, { readVersion: writer.readVersion(), ...given });
  writer.begin(sync);
  return sync;
}

it('a new row does not hide that another one has vanished, and an unreadable one counts as present', async () => {
  for (const other of [row('c', 'x'), unreadable('c', 'bad')]) {
    const { writer, accept, load, published } = await bench();
    await load(row('a', 'x'), row('b', 'x'));
    const full = beginSync(writer, 'FULL');
    await accept(full, unreadable('a', 'bad'), other);
    expect([full.seen.size, hasSeenAll(full, writer.known.rows)]).toEqual([2, false]);
    expect((await unseen(writer, full)).keys).toEqual(['b']);
    await writer.flush(full);
    expect([published().length, published('rejects').length]).toEqual(
      other.decoded.kind === 'row' ? [3, 1] : [2, 2],
    );
  }
});

it('a slow page does not overwrite newer rows, even after a large load', async () => {
  const { writer, published, accept } = await bench();
  const [slow, quick] = [beginSync(writer, 'FULL'), beginSync(writer)];
  const readVersion = writer.readVersion();
  for (const part of [0, 1, 2]) {
    await accept(quick, ...Array.from({ length: 10_000 }, (_, number) => row(`${part}-${number}`, 'new')));
    await writer.flush(quick);
  }
  await writer.accept(slow, { rows: [row('0-0', 'old'), row('2-9999', 'old')], readVersion });
  await writer.flush(slow);
  expect(published()).toHaveLength(30_000);
});

it('an unfinished sync moves neither the watermark nor the last complete sync', async () => {
  const { writer, accept } = await bench();
  const sync = beginSync(writer, 'FULL');
  const { syncId } = sync.stats;
  await accept(sync, row('a', 'x'));
  await writer.flush(sync, { kind: 'complete', watermarkMs: 5_000, isWhole: true });
  const { lastCompleteFull: complete } = writer.progress ?? {};
  expect(complete).toMatchObject({ syncId, rows: 1, offsets: { 'p.north.users/0': 1 } });
  await accept(sync, row('a', 'y'));
  await writer.flush(sync);
  await writer.flush(sync, { kind: 'incomplete' });
  expect(writer.progress).toMatchObject({ watermarkMs: 5_000, lastCompleteFull: complete, complete: false });
  // A clock that was set back is followed, so that no change since then is skipped.
  await writer.flush(sync, { kind: 'complete', watermarkMs: 2_000, isWhole: false });
  expect(writer.progress?.watermarkMs).toBe(2_000);
});

it('the settlement of missing rows is committed with their removals, whichever sync commits the removals', async () => {
  const { writer, deletions, accept } = await bench();
  const quick = beginSync(writer);
  await accept(quick, row('a', 'x'), row('b', 'x'));
  await writer.flush(quick);
  const full = beginSync(writer, 'FULL');
  const isWhole = { countsFor: () => true, unlisted: 0, short: null, confirmAtMs: null, confirmsAll: false };
  const isAlone = { wasSeen: () => false, isOtherOnHold: false, approved: null };
  const at = { syncId: full.stats.syncId, atMs: 7, day: '2026-03-02' };
  const guard = { missesNeeded: () => 1, limits: { rows: 9, ratio: 1 } };
  const ended: EndedSync = { ...at, ...isWhole, ...isAlone, ...guard, missed: ['b'], known: 2 };
  expect(deletions.settle(ended).remove).toEqual(['b']);
  await writer.remove(full, 'rows', ['b']);
  await writer.flush(quick, { kind: 'complete', watermarkMs: 5_000, isWhole: false });
  expect(writer.progress?.deletions).toMatchObject({ settledBy: '', removed: 1 });
  await writer.flush(full, { kind: 'complete', watermarkMs: 5_000, isWhole: false });
  expect(writer.progress?.deletions).toMatchObject({ settledBy: full.stats.syncId, removed: 1 });
  // A crash before the end of the sync that began a hold loses the list, and no older one may stand for it.
  deletions.settle({ ...ended, syncId: 'other', missed: ['a'], known: 1 });
  for (const content of ['y', 'z']) {
    const later = beginSync(writer);
    await accept(later, row('a', content));
    await writer.flush(later);
    expect(writer.progress?.deletions).toMatchObject({ settledBy: 'other', onHoldSinceMs: 7 });
  }
});

/** Several syncs run concurrently against a hub that keeps changing. */
const KEYS = ['a', 'b', 'c'];
const step = fc.record({
  kind: fc.constantFrom('change', 'request', 'accept', 'flush', 'renew'),
  sync: fc.nat(2),
  keys: fc.subarray(KEYS, { minLength: 1 }),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function play(steps: readonly Step[], contentOf: (version: number) => string) {
  const built = await bench();
  const { writer } = built;
  const hub = new Map(KEYS.map((key) => [key, 0]));
  const lanes = [0, 1, 2].map(() => ({
    sync: beginSync(writer, 'FULL'),
    pages: [] as { rows: KeyedRow[]; readVersion: number }[],
  }));
  const request = (keys: readonly string[]) => ({
    readVersion: writer.readVersion(),
    rows: keys.map((key) => row(key, contentOf(hub.get(key) ?? 0))),
  });
  for (const each of steps) {
    if (each.kind === 'change') hub.set(each.keys[0] ?? '', (hub.get(each.keys[0] ?? '') ?? 0) + 1);
    const lane = lanes[each.sync];
    if (lane === undefined) continue;
    if (each.kind === 'request') lane.pages.push(request(each.keys));
    if (each.kind === 'flush') await writer.flush(lane.sync);
    if (each.kind === 'accept') {
      const page = lane.pages.shift();
      if (page !== undefined) await writer.accept(lane.sync, page);
      if (hasSeenAll(lane.sync, writer.known.rows)) {
        await writer.flush(lane.sync);
        const missed = await writer.read((table) =>
          table.find('rows', (key) => !hasSeen(lane.sync, 'rows', key)),
        );
        expect(missed.keys).toEqual([]);
      }
    }
    if (each.kind === 'renew') {
      await writer.flush(lane.sync);
      writer.end(lane.sync);
      lane.pages = [];
      lane.sync = beginSync(writer, 'FULL');
    }
  }
  const last = beginSync(writer);
  await writer.accept(last, request(KEYS));
  await writer.flush(last);
  return { ...built, hub };
}

/** Every version has a content of its own, or every other one. */
const contents = fc.constantFrom(1_000, 2);

it("no key goes back to an older version, and each change is published once, up to the hub's version", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), contents, async (steps, count) => {
      const { published, hub, hashesOf, transactions } = await play(steps, (version) =>
        String(version % count),
      );
      const hashes = await hashesOf(...KEYS);
      for (const [position, key] of KEYS.entries()) {
        const versions = published().flatMap(([name, content]) => (name === key ? [Number(content)] : []));
        expect(versions.every((version, at) => version !== versions[at - 1])).toBe(true);
        if (count > 2) expect(versions).toEqual(versions.toSorted((one, other) => one - other));
        expect(versions.at(-1)).toBe((hub.get(key) ?? 0) % count);
        expect(hashes[position]).toEqual(hash(String(versions.at(-1))));
      }
      const ids = transactions.flatMap(({ records }) => records.map(({ headers }) => headers['ce_id']));
      expect(new Set(ids).size).toBe(ids.length);
      const sequences = transactions.map(({ progress }) => progress.sequence);
      expect(sequences).toEqual(sequences.map((_, at) => at + 1));
    }),
    { numRuns: 500 },
  );
});
