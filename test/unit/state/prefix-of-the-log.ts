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

type Step =
  | {
      readonly kind: 'publish' | 'publish and crash before the index';
      readonly changes: readonly IndexChange[];
    }
  | { readonly kind: 'late write'; readonly behind: number; readonly changes: readonly IndexChange[] }
  | { readonly kind: 'rebuild' | 'resume'; readonly pieces: number; readonly crash: boolean }
  | { readonly kind: 'write to an older replay'; readonly changes: readonly IndexChange[] };

interface Logged {
  readonly position: IndexPosition;
  readonly changes: readonly IndexChange[];
}

const KEYS = ['a', 'b', 'å|%', '__proto__', '', '🎒', '\u0000\r\n', '1'];

function stepsIn(areas: readonly IndexArea[]): fc.Arbitrary<Step[]> {
  const changes = fc.array(
    fc.record<IndexChange>({
      area: fc.constantFrom(...areas),
      key: fc.constantFrom(...KEYS),
      value: fc.option(
        fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
        { nil: null },
      ),
    }),
    { maxLength: 3 * areas.length },
  );
  return fc.array<Step>(
    fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('publish' as const), changes }) },
      fc.record({ kind: fc.constant('publish and crash before the index' as const), changes }),
      fc.record({ kind: fc.constant('late write' as const), behind: fc.nat(4), changes }),
      fc.record({
        kind: fc.constantFrom('rebuild' as const, 'resume' as const),
        pieces: fc.integer({ min: 1, max: 4 }),
        crash: fc.boolean(),
      }),
      fc.record({ kind: fc.constant('write to an older replay' as const), changes }),
    ),
    { maxLength: 25 },
  );
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
  readonly #tenantId = `t-${randomUUID()}`;
  readonly #log: Logged[] = [];
  /** The number of the log's transactions that the index must reflect; null when it must be unknown. */
  #reflected: number | null = 0;
  /** All replays so far; only the last one may still write, and only while the index is unknown. */
  readonly #replays: IndexReplay[] = [];
  readonly #store: StateStore;
  readonly #collection: CollectionName;

  constructor(store: StateStore, collection: CollectionName) {
    this.#store = store;
    this.#collection = collection;
  }

  /** A new handle without any memory, as after a start. */
  get #index(): CollectionIndex {
    return this.#store.tenant(this.#tenantId).collection(this.#collection);
  }

  async take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'publish':
        return this.#publish(step.changes);
      case 'publish and crash before the index':
        this.#append(step.changes);
        return;
      case 'late write': {
        const at = this.#log.length - 1 - step.behind;
        const previous = this.#log[at]?.position.transactionId ?? 'never there';
        if (this.#reflected === at + 1) return;
        await assert.rejects(this.#index.apply(previous, newPosition(99), step.changes), {
          code: 'INDEX_DIVERGED',
        });
        return;
      }
      case 'rebuild':
        return this.#replay(0, await this.#index.rebuild(), step);
      case 'resume': {
        const from = await this.#index.position();
        if (from === null) return;
        return this.#replay(from.sequence, await this.#index.resume(from), step);
      }
      case 'write to an older replay':
        for (const replay of this.#reflected === null ? this.#replays.slice(0, -1) : this.#replays) {
          await assert.rejects(replay.write(step.changes), { code: 'INDEX_DIVERGED' });
          await assert.rejects(replay.finish(newPosition(99)), { code: 'INDEX_DIVERGED' });
        }
        return;
    }
  }

  async check(): Promise<void> {
    const index = this.#index;
    const last = this.#log.at((this.#reflected ?? 0) - 1)?.position ?? null;
    const isKnown = this.#reflected !== null && this.#reflected > 0;
    assert.deepEqual(await index.position(), isKnown ? last : null);
    if (this.#reflected === null) {
      const newest = this.#log.at(-1)?.position.transactionId ?? 'never there';
      await assert.rejects(index.lookup('rows', KEYS, newest), { code: 'INDEX_DIVERGED' });
      return;
    }
    for (const area of areasOf(this.#collection)) {
      const wanted = this.#contents(area, this.#reflected);
      const found = await index.lookup(area, KEYS, isKnown ? (last?.transactionId ?? null) : null);
      assert.deepEqual(
        found,
        KEYS.map((key) => wanted.get(key) ?? null),
      );
      assert.deepEqual(await index.count(area), wanted.size);
      const keys = new Set<string>();
      for await (const batch of index.keys(area)) for (const key of batch) keys.add(key);
      assert.deepEqual(keys, new Set(wanted.keys()));
      assert.deepEqual(await allEntries(index, area), wanted);
    }
  }

  async #publish(changes: readonly IndexChange[]): Promise<void> {
    const previous = this.#log.at(-1)?.position.transactionId ?? null;
    const wasCurrent = this.#reflected === this.#log.length || previous === null;
    const position = this.#append(changes);
    const writing = this.#index.apply(previous, position, changes);
    if (!wasCurrent) {
      await assert.rejects(writing, { code: 'INDEX_DIVERGED' });
      return;
    }
    await writing;
    this.#reflected = this.#log.length;
  }

  async #replay(
    from: number,
    replay: IndexReplay,
    step: { readonly pieces: number; readonly crash: boolean },
  ): Promise<void> {
    this.#replays.push(replay);
    const before = this.#log.slice(0, from).flatMap((logged) => logged.changes);
    const rest = this.#log.slice(from).flatMap((logged) => logged.changes);
    const size = Math.max(1, Math.ceil(rest.length / step.pieces));
    this.#reflected = null;
    for (let at = 0; at < rest.length; at += size) {
      await replay.write(rest.slice(at, at + size));
      await this.#checkReplay(replay, before.concat(rest.slice(0, at + size)));
      if (step.crash) return;
    }
    const last = this.#log.at(-1)?.position;
    if (step.crash || last === undefined) return;
    await replay.finish(last);
    this.#reflected = this.#log.length;
  }

  async #checkReplay(replay: IndexReplay, written: readonly IndexChange[]): Promise<void> {
    for (const area of areasOf(this.#collection)) {
      const wanted = contentsOf(area, written);
      assert.deepEqual(
        await replay.lookup(area, KEYS),
        KEYS.map((key) => wanted.get(key) ?? null),
      );
      assert.deepEqual(await allEntries(replay, area), wanted);
    }
  }

  #append(changes: readonly IndexChange[]): IndexPosition {
    const position = newPosition(this.#log.length + 1);
    this.#log.push({ position, changes });
    return position;
  }

  #contents(area: IndexArea, count: number): Map<string, Buffer> {
    return contentsOf(
      area,
      this.#log.slice(0, count).flatMap((logged) => logged.changes),
    );
  }
}

function contentsOf(area: IndexArea, changes: readonly IndexChange[]): Map<string, Buffer> {
  const contents = new Map<string, Buffer>();
  for (const change of changes) {
    if (change.area !== area) continue;
    if (change.value === null) contents.delete(change.key);
    else contents.set(change.key, change.value);
  }
  return contents;
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
