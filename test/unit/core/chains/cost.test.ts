import { describe, expect, it } from 'vitest';

import type { AbsenceEntry, ChainRow, VersionEntry } from '../../../../src/core/chains/chain-state.ts';
import { resolve } from '../../../../src/core/chains/chain-rules.ts';
import { row } from './support/rows.ts';

const ROWS = 20_000;
/** This is about ten times what a linear resolver needs, and far less than what a quadratic one needs. */
const MOST_US_PER_ROW = 100;

const id = (index: number): string => String(index).padStart(9, '0');
const link = (index: number): string | null => (index < 0 || index >= ROWS ? null : id(index));

/** Each shape but the first is a single component of many rows. */
const SHAPES: Record<string, (index: number) => ChainRow> = {
  'single versions': (index) => row(id(index)),
  'one long chain': (index) => row(id(index), { replaces: link(index - 1), replacedBy: link(index + 1) }),
  'one loop': (index) =>
    row(id(index), { replaces: id((index + ROWS - 1) % ROWS), replacedBy: id((index + 1) % ROWS) }),
  'one fork of many': (index) => row(id(index), { replaces: index === 0 ? null : id(0) }),
  'many before one': (index) => row(id(index), { replacedBy: index === 0 ? null : id(0) }),
  'forks along a chain': (index) =>
    row(id(index), { replaces: link(index % 2 === 0 ? index - 2 : index - 1) }),
  'students of one missing record': (index) => row(id(index), { replaces: 'lost', studentId: id(index) }),
};

describe('the cost of resolving', () => {
  it.each(Object.keys(SHAPES))('grows no faster than the number of rows: %s', (name) => {
    const rows = Array.from({ length: ROWS }, (_, index) => SHAPES[name]?.(index) ?? row('none'));
    const ids = [...rows.map((one) => one.id), 'lost'];
    const versions = new Map<string, VersionEntry | null>(ids.map((one) => [one, null]));
    const absences = new Map<string, AbsenceEntry | null>(ids.map((one) => [one, null]));
    const before = process.cpuUsage();
    resolve({ rows, gone: ['lost'], chainState: { versions, absences }, mode: 'final', sequence: 1 });
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / ROWS).toBeLessThan(MOST_US_PER_ROW);
  });
});
