import type { KeyedRow } from '../page-decision.ts';
import { SeenKeys } from '../seen-keys.ts';
import { differenceOf, type HubSide } from './judge-key.ts';
import type { TopicEntry } from './topic-entry.ts';

export type RowArea = 'rows' | 'rejects';

/** The records of a topic that are there, by key; and those of `rejects` that are the collection's, by second part. */
export type TopicView = Readonly<Record<RowArea, Map<string, TopicEntry>>>;

/** Keys that may differ, with what the hub had under them. */
export type Candidates = Readonly<Record<RowArea, Map<string, HubSide | null>>>;

/** `rows` of a collection held against its records, page by page; what is kept of the hub's keys are fingerprints. */
export class RowComparison {
  readonly candidates: Candidates = { rows: new Map(), rejects: new Map() };
  hubRows = 0;
  hubRejects = 0;
  /** Different keys of the hub, those of rows that cannot be read included; and those of them that the topic has. */
  keysMet = 0;
  keysKnown = 0;
  readonly #view: TopicView;
  readonly #met: Readonly<Record<RowArea, SeenKeys>>;
  readonly #skipsEmpty: boolean;

  /** `seed`: 32 bits, new each time. `skipsEmpty`: a value that holds nothing needs no record. */
  constructor(view: TopicView, options: { readonly seed: number; readonly skipsEmpty: boolean }) {
    this.#view = view;
    this.#met = { rows: new SeenKeys(options.seed), rejects: new SeenKeys(options.seed) };
    this.#skipsEmpty = options.skipsEmpty;
  }

  /** Of what the hub lists twice, the first place counts, as in a pass. False where it was met before. */
  take(reading: KeyedRow): boolean {
    const { key, rejectKey } = reading;
    const isReject = reading.decoded.kind === 'reject';
    if (key !== null && this.#met.rows.has(key)) return false;
    const isNewReject = isReject && this.#met.rejects.add(rejectKey);
    if (isNewReject) {
      this.hubRejects += 1;
      this.#hold('rejects', rejectKey, hubSideOf('rejects', reading));
    }
    if (key === null) return isNewReject;
    this.#met.rows.add(key);
    this.keysMet += 1;
    if (this.#view.rows.has(key)) this.keysKnown += 1;
    if (!isReject) this.hubRows += 1;
    const isSkipped = this.#skipsEmpty && reading.becameEmpty === true && !this.#view.rows.has(key);
    if (!isSkipped) this.#hold('rows', key, hubSideOf('rows', reading));
    return true;
  }

  /** To be called when the hub has given all: what it did not give is a candidate, too. */
  finish(isExpected: (area: RowArea, key: string) => boolean = () => true): void {
    for (const area of ['rows', 'rejects'] as const) {
      for (const key of this.#view[area].keys()) {
        if (!this.#met[area].has(key) && isExpected(area, key)) this.candidates[area].set(key, null);
      }
    }
  }

  #hold(area: RowArea, key: string, hub: HubSide): void {
    const kind = differenceOf({ hub, topic: this.#view[area].get(key) ?? null });
    if (kind !== null) this.candidates[area].set(key, hub);
  }
}

/** What a reading is to the topic of its rows, or to `rejects`. */
export function hubSideOf(area: RowArea, { decoded: reading, becameEmpty }: KeyedRow): HubSide {
  if (area === 'rows' && reading.kind === 'reject') return 'unreadable';
  const { hash, modifiedAtMs } = reading;
  return { hash: hash.toString('latin1'), modifiedAtMs, becameEmpty };
}
