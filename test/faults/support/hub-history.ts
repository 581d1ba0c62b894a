import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { idOf } from '../../integration/support/rows.ts';

export type Row = Readonly<Record<string, unknown>>;

/** How a row stood at the hub, from an instant on. */
export interface HubState {
  /** Null: it was not there. */
  readonly row: Row | null;
  /** The content without `dateLastModified` and `href`, to tell states apart. */
  readonly text: string;
  /** ms since the epoch, by this machine's clock. */
  readonly sinceMs: number;
}

/** What the hub itself has said, key by key: what a mirror may tell, in which order. */
export interface HubHistory {
  /** Collections that are written down, by the names of their topics. */
  readonly collections: readonly string[];
  /**
   * Looks at collections (default: all) and writes down what is new. To be called in the same turn as the change:
   * what no request can have seen need not be known.
   */
  note(...collections: string[]): void;
  /** States of each key that was ever there, one after another; no two neighbours alike. */
  of(collection: string): ReadonlyMap<string, readonly HubState[]>;
}

/** Begins with what is there now. Only for collections of which each row is one record under its own id. */
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
