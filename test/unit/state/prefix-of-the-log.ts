import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import type { CollectionName } from '../../../src/model/collections.ts';
import { areasOf } from '../../../src/state/index-store.ts';
import type {
  CollectionIndex,
  IndexArea,
  IndexChange,
  IndexPosition,
  IndexReplay,
  StateStore,
} from '../../../src/state/index-store.ts';

/*
 * Drives a writer with a log (an array in place of Kafka) and an index, with all failures that are possible between
 * them.
 */

interface Step {
  readonly kind: (typeof KINDS)[number];
  readonly changes: readonly IndexChange[];
  /** How many transactions too late a write is. */
  readonly behind: number;
  /** A replay writes so many pieces, and may end after the first. */
  readonly pieces: number;
  readonly crash: boolean;
}

interface Logged {
  readonly position: IndexPosition;
  readonly changes: readonly IndexChange[];
}

const KEYS = ['a', 'b', 'å|%', '__proto__', '', '🎒', '\u0000\r\n', '1'];

const KINDS = [
  'publish',
  'publish',
  'publish',
  'publish',
  'publish and crash before the index',
  'late write',
  'rebuild',
  'resume',
  'write to an older replay',
] as const;

function stepsIn(areas: readonly IndexArea[]): fc.Arbitrary<Step[]> {
  const bytes = fc.uint8Array({ maxLength: 80 }).map((some) => Buffer.from(some));
  const change = fc.record<IndexChange>({
    area: fc.constantFrom(...areas),
    key: fc.constantFrom(...KEYS),
    value: fc.option(bytes, { nil: null }),
  });
  const step = fc.record<Step>({
    kind: fc.constantFrom(...KINDS),
    changes: fc.array(change, { maxLength: 3 * areas.length }),
    behind: fc.nat(4),
    pieces: fc.integer({ min: 1, max: 4 }),
    crash: fc.boolean(),
  });
  return fc.array(step, { maxLength: 25 });
}

export async function checkPrefixOfTheLog(options: {
  readonly open: () => Promise<StateStore>;
  readonly runs: number;
  readonly collection: CollectionName;
}): Promise<void> {
  await fc.assert(
    fc.asyncProperty(stepsIn(areasOf(options.collection)), async (sequence) => {
      const world = new World(await options.open(), options.collection);
      for (const step of sequence) {
        await world.take(step);
        await world.check();
      }
    }),
    { numRuns: options.runs },
  );
}

class World {
  readonly #log: Logged[] = [];
  /** The number of the log's transactions that the index must reflect; null when it must be unknown. */
  #reflected: number | null = 0;
  /** All replays so far; only the last one may still write, and only while the index is unknown. */
  readonly #replays: IndexReplay[] = [];
  readonly #areas: readonly IndexArea[];
  /** Returns a new handle without any memory, as after a start. */
  readonly #open: () => CollectionIndex;

  constructor(store: StateStore, collection: CollectionName) {
    const tenantId = `t-${randomUUID()}`;
    this.#areas = areasOf(collection);
    this.#open = () => store.tenant(tenantId).collection(collection);
  }

  async take(step: Step): Promise<void> {
    const { kind, changes } = step;
    const index = this.#open();
    const previous = this.#log.at(-1)?.position.transactionId ?? null;
    if (kind === 'publish and crash before the index') this.#append(changes);
    if (kind === 'publish') {
      const isCurrent = this.#reflected === this.#log.length || previous === null;
      const writing = index.apply(previous, this.#append(changes), changes);
      await (isCurrent ? writing : expectDiverged(writing));
      if (isCurrent) this.#reflected = this.#log.length;
    }
    if (kind === 'late write') {
      const at = this.#log.length - 1 - step.behind;
      const older = this.#log[at]?.position.transactionId ?? 'never there';
      if (this.#reflected !== at + 1) await expectDiverged(index.apply(older, newPosition(99), changes));
    }
    const from = await index.position();
    if (kind === 'rebuild') await this.#replay(0, await index.rebuild(), step);
    if (kind === 'resume' && from !== null) await this.#replay(from.sequence, await index.resume(from), step);
    if (kind === 'write to an older replay')
      for (const replay of this.#reflected === null ? this.#replays.slice(0, -1) : this.#replays) {
        await expectDiverged(replay.write(changes));
        await expectDiverged(replay.finish(newPosition(99)));
      }
  }

  async check(): Promise<void> {
    const index = this.#open();
    const reflected = this.#reflected;
    const last = this.#log.at((reflected ?? 0) - 1)?.position ?? null;
    const position = reflected === null || reflected === 0 ? null : last;
    assert.deepEqual(await index.position(), position);
    const newest = this.#log.at(-1)?.position ?? newPosition(1);
    const others = [newPosition(newest.sequence), ...(reflected === null ? [newest] : [])];
    for (const { transactionId, ...rest } of others) {
      await expectDiverged(index.lookup('rows', [], transactionId));
      await expectDiverged(index.apply(transactionId, newPosition(99), []));
      await expectDiverged(index.resume({ ...rest, transactionId }));
    }
    if (reflected === null) return;
    const lookup = (area: IndexArea) => index.lookup(area, KEYS, position?.transactionId ?? null);
    await this.#checkContents({ lookup, entries: (area) => index.entries(area) }, reflected);
    for (const area of this.#areas) {
      const entries = await allEntries(index, area);
      const keys = new Set<string>();
      for await (const batch of index.keys(area)) for (const key of batch) keys.add(key);
      assert.deepEqual(keys, new Set(entries.keys()));
      assert.equal(await index.count(area), entries.size);
    }
  }

  async #replay(from: number, replay: IndexReplay, { pieces, crash }: Step): Promise<void> {
    this.#replays.push(replay);
    this.#reflected = null;
    const size = Math.ceil((this.#log.length - from) / pieces);
    for (let at = from; at < this.#log.length; at += size) {
      const some = this.#log.slice(at, at + size);
      await replay.write(some.flatMap(({ changes }) => changes));
      const lookup = (area: IndexArea) => replay.lookup(area, KEYS);
      await this.#checkContents({ lookup, entries: (area) => replay.entries(area) }, at + some.length);
      if (crash) return;
    }
    const last = this.#log.at(-1)?.position;
    if (crash || last === undefined) return;
    await replay.finish(last);
    this.#reflected = this.#log.length;
  }

  /** What is read must be the first transactions of the log. */
  async #checkContents(
    read: { lookup: (area: IndexArea) => Promise<unknown>; entries: IndexReplay['entries'] },
    transactions: number,
  ): Promise<void> {
    for (const area of this.#areas) {
      const wanted = new Map<string, Buffer>();
      for (const change of this.#log.slice(0, transactions).flatMap(({ changes }) => changes)) {
        if (change.area !== area) continue;
        if (change.value === null) wanted.delete(change.key);
        else wanted.set(change.key, change.value);
      }
      const values = KEYS.map((key) => wanted.get(key) ?? null);
      assert.deepEqual(await read.lookup(area), values);
      assert.deepEqual(await allEntries(read, area), wanted);
    }
  }

  #append(changes: readonly IndexChange[]): IndexPosition {
    const position = newPosition(this.#log.length + 1);
    this.#log.push({ position, changes });
    return position;
  }
}

async function expectDiverged(work: Promise<unknown>): Promise<void> {
  await assert.rejects(work, { code: 'INDEX_DIVERGED' });
}

export async function allEntries(
  from: Pick<IndexReplay, 'entries'>,
  area: IndexArea,
): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  for await (const batch of from.entries(area)) for (const [key, value] of batch) found.set(key, value);
  return found;
}

function newPosition(sequence: number): IndexPosition {
  return { sequence, transactionId: randomUUID(), committedAtMs: sequence, offsets: { 'topic/0': sequence } };
}
