import type { ReferenceHub } from '../../reference-hub/start-reference-hub.ts';
import { idOf } from '../integration/support/rows.ts';

export type Row = Readonly<Record<string, unknown>>;

/** The state of a row at the hub from some time on. */
export interface HubState {
  /** Null: the row was not there. */
  readonly row: Row | null;
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
    const states = this.#of(collection);
    const known = states.get(key);
    if (known === undefined) states.set(key, [{ row, sinceMs }]);
    else if (!hasSameContent(known.at(-1)?.row, row)) known.push({ row, sinceMs });
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

const NOT_CONTENT = new Set(['dateLastModified', 'href']);

/** Compares values as JSON has them, without the names that are no content. */
function hasSameContent(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [here, there] = [one as Row, other as Row];
  const isSame = (name: string): boolean =>
    NOT_CONTENT.has(name) || hasSameContent(own(here, name), own(there, name));
  return Object.keys(here).every(isSame) && Object.keys(there).every((name) => name in here || isSame(name));
}

export function own(row: Row, name: string): unknown {
  return Object.hasOwn(row, name) ? row[name] : undefined;
}
