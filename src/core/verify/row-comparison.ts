import type { KeyedRow } from '../row-changes.ts';
import { SeenKeys } from '../seen-keys.ts';
import { differenceOf, type HubSide } from './judge-key.ts';
import type { TopicEntry } from './topic-entry.ts';

export type RowArea = 'rows' | 'rejects';

/** The records of a topic by key, and those of the collection in `rejects` by the second part of their key. */
export type TopicView = Readonly<Record<RowArea, Map<string, TopicEntry>>>;

/** Keys that may differ, with what the hub has under them. */
export type Candidates = Readonly<Record<RowArea, Map<string, HubSide | null>>>;

/** Compares the hub's rows of a collection with its records, page by page. It keeps only fingerprints of the hub's keys. */
export class RowComparison {
  readonly candidates: Candidates = { rows: new Map(), rejects: new Map() };
  hubRows = 0;
  hubRejects = 0;
  /** Distinct keys of the hub, including those of unreadable rows. */
  keysSeen = 0;
  /** The part of `keysSeen` that the topic has. */
  keysKnown = 0;
  readonly #view: TopicView;
  readonly #seen: Readonly<Record<RowArea, SeenKeys>>;
  readonly #skipsEmpty: boolean;

  /** `seed`: any 32-bit integer, new for each comparison. `skipsEmpty`: an empty value needs no record, and does not count. */
  constructor(view: TopicView, options: { readonly seed: number; readonly skipsEmpty: boolean }) {
    this.#view = view;
    this.#seen = { rows: new SeenKeys(options.seed), rejects: new SeenKeys(options.seed) };
    this.#skipsEmpty = options.skipsEmpty;
  }

  /** Takes a row of the hub. Of a key that occurs twice the first row counts, as in a sync; returns false for others. */
  take(row: KeyedRow): boolean {
    const { key, rejectKey } = row;
    const isReject = row.decoded.kind === 'reject';
    if (key !== null && this.#seen.rows.has(key)) return false;
    const isNewReject = isReject && this.#seen.rejects.add(rejectKey);
    if (isNewReject) {
      this.hubRejects += 1;
      this.#compare('rejects', rejectKey, hubSideOf('rejects', row));
    }
    if (key === null) return isNewReject;
    this.#seen.rows.add(key);
    const isKnown = this.#view.rows.has(key);
    if (this.#skipsEmpty && row.becameEmpty === true && !isKnown) return true;
    this.keysSeen += 1;
    if (isKnown) this.keysKnown += 1;
    if (!isReject) this.hubRows += 1;
    this.#compare('rows', key, hubSideOf('rows', row));
    return true;
  }

  /** Call this after the last row: keys that the hub did not return become candidates, too. */
  finish(isExpected: (area: RowArea, key: string) => boolean = () => true): void {
    for (const area of ['rows', 'rejects'] as const) {
      for (const key of this.#view[area].keys()) {
        if (!this.#seen[area].has(key) && isExpected(area, key)) this.candidates[area].set(key, null);
      }
    }
  }

  #compare(area: RowArea, key: string, hub: HubSide): void {
    const kind = differenceOf({ hub, topic: this.#view[area].get(key) ?? null });
    if (kind !== null) this.candidates[area].set(key, hub);
  }
}

/** The hub's side of a row, for comparison with the collection's topic or with `rejects`. */
export function hubSideOf(area: RowArea, { decoded, becameEmpty }: KeyedRow): HubSide {
  if (area === 'rows' && decoded.kind === 'reject') return 'unreadable';
  const { hash, modifiedAtMs } = decoded;
  return { hash: hash.toString('latin1'), modifiedAtMs, becameEmpty };
}
