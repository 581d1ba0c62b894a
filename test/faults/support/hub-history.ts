import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { idOf } from '../../integration/support/rows.ts';

export type Row = Readonly<Record<string, unknown>>;

/** The state of a row at the hub from some time on. */
export interface HubState {
  /** Null: the row was not there. */
  readonly row: Row | null;
  /** The content without `dateLastModified` and `href`, to compare states. */
  readonly text: string;
  /** ms since the epoch, by this machine's clock. */
  readonly sinceMs: number;
}

/** All states of the hub, key by key: these may be published, in this order. */
export interface HubHistory {
  /** Recorded collections, by the names of their topics. */
  readonly collections: readonly string[];
  /**
   * Records new states of collections (default: all). Call it in the same turn as the change, so that no request can see a
   * state that is not recorded.
   */
  note(...collections: string[]): void;
  /** The states of each key that was ever there, in order; no two successive ones are equal. */
  of(collection: string): ReadonlyMap<string, readonly HubState[]>;
}

/** Starts with the present rows. Only for collections of which each row is one record under its own id. */
export function recordHistory(
  hub: ReferenceHub,
  collections: readonly string[],
  now: () => number = Date.now,
): HubHistory {
  const histories = new Map(collections.map((name) => [name, new Map<string, HubState[]>()]));
  const note = (name: string): void => {
    const states = histories.get(name);
    if (states === undefined) return;
    const sinceMs = now();
    const rows = new Map(
      hub.district.snapshot(name, { faults: false }).map((row) => [idOf(row), row as Row]),
    );
    for (const [id, row] of rows) add(states, id, { row, text: contentText(row), sinceMs });
    for (const id of states.keys()) {
      if (!rows.has(id)) add(states, id, { row: null, text: 'null', sinceMs });
    }
  };
  for (const name of collections) note(name);
  return {
    collections,
    note: (...some) => {
      for (const name of some.length > 0 ? some : collections) note(name);
    },
    of: (collection) => histories.get(collection) ?? new Map(),
  };
}

function add(states: Map<string, HubState[]>, id: string, state: HubState): void {
  const known = states.get(id);
  if (known === undefined) states.set(id, [state]);
  else if (known.at(-1)?.text !== state.text) known.push(state);
}

function contentText(row: Row): string {
  return JSON.stringify(row, (name, value: unknown) =>
    name === 'dateLastModified' || name === 'href' ? undefined : value,
  );
}
