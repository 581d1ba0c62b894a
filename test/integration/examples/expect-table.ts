import { expect } from 'vitest';
import type { Running } from '../support/running.ts';

/** An engine that starts needs much of a processor. */
const CAUGHT_UP_WITHIN_MS = 400_000;

/** Rows by their keys. */
export type Table = ReadonlyMap<string, object>;

/** A row as text, whatever the order of its fields. */
export function textOf(row: object): string {
  return JSON.stringify(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Waits until an engine has caught up, and its table is the wanted one. */
export async function expectEqual(wanted: Table, read: () => Promise<Table>, engine: Running): Promise<void> {
  let found: object[] = [];
  const isEqual = async (): Promise<boolean> => {
    found = differences(wanted, await read());
    return found.length === 0;
  };
  await engine.until('its table was right', isEqual, CAUGHT_UP_WITHIN_MS).catch((error: unknown) => {
    expect(found).toEqual([]);
    throw error;
  });
}

function differences(wanted: Table, found: Table): object[] {
  const textIn = (table: Table, key: string): string | undefined => {
    const row = table.get(key);
    return row && textOf(row);
  };
  return [...new Set([...wanted.keys(), ...found.keys()])]
    .map((key) => ({ key, wanted: textIn(wanted, key), found: textIn(found, key) }))
    .filter((each) => each.wanted !== each.found);
}
