import type { ReferenceHub } from '../../reference-hub/start-reference-hub.ts';
import { idOf } from '../integration/support/rows.ts';

export type Row = Readonly<Record<string, unknown>>;

/** The state of a row at the hub from some time on. */
export interface HubState {
  /** Null: the row was not there. */
  readonly row: Row | null;
  /** The content without `dateLastModified` and `href`, to compare states. */
  readonly text: string;
  /** ms since the epoch, by the clock of the records' time stamps */
  readonly sinceMs: number;
}

/** By key of the record: the states of each row that was ever there, in order; no two successive ones are equal. */
export type HubStates = ReadonlyMap<string, readonly HubState[]>;

/** All states of a hub, row by row: these may be published, in this order. */
export class StateHistory {
  readonly #states = new Map<string, Map<string, HubState[]>>();

  of(collection: string): HubStates {
    return this.#of(collection);
  }

  /** `row` null: it is not there. Call it in the same turn as the change, so that no request sees what is not recorded. */
  put(collection: string, key: string, row: Row | null, sinceMs: number): void {
    const text = contentText(row);
    const states = this.#of(collection);
    const known = states.get(key);
    if (known === undefined) states.set(key, [{ row, text, sinceMs }]);
    else if (known.at(-1)?.text !== text) known.push({ row, text, sinceMs });
  }

  #of(collection: string): Map<string, HubState[]> {
    const states = this.#states.get(collection) ?? new Map<string, HubState[]>();
    this.#states.set(collection, states);
    return states;
  }
}

/** The history of a reference hub. */
export interface HubHistory {
  /** Recorded collections, by the names of their topics. */
  readonly collections: readonly string[];
  /** Records new states of collections (default: all). */
  note(...collections: string[]): void;
  of(collection: string): HubStates;
}

/** Starts with the present rows. Only for collections of which each row is one record under its own id. */
export function recordHistory(
  hub: Pick<ReferenceHub, 'district'>,
  collections: readonly string[],
  now: () => number = Date.now,
): HubHistory {
  const history = new StateHistory();
  const note = (name: string): void => {
    const sinceMs = now();
    const rows = new Map(
      hub.district.snapshot(name, { faults: false }).map((row) => [idOf(row), row as Row]),
    );
    for (const [id, row] of rows) history.put(name, id, row, sinceMs);
    for (const id of history.of(name).keys()) if (!rows.has(id)) history.put(name, id, null, sinceMs);
  };
  for (const name of collections) note(name);
  return {
    collections,
    note: (...some) => {
      for (const name of some.length > 0 ? some : collections) if (collections.includes(name)) note(name);
    },
    of: (collection) => history.of(collection),
  };
}

function contentText(row: Row | null): string {
  return JSON.stringify(row, (name, value: unknown) =>
    name === 'dateLastModified' || name === 'href' ? undefined : value,
  );
}
