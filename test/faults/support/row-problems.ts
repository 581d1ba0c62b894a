import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { differences } from '../../integration/support/hub-oracle.ts';
import type { TopicRecord } from '../../integration/support/read-topics.ts';
import type { HubState, Row } from './hub-history.ts';

/** Tolerance between the clocks of two processes of one machine. */
const CLOCKS_DIFFER_MS = 50;

export interface RowProblemOptions {
  /** All committed records of the collection's topic, from the beginning. */
  readonly records: readonly TopicRecord[];
  readonly states: ReadonlyMap<string, readonly HubState[]>;
  readonly collection: string;
  /** Whether times of publication mean something: not while the clock of the machine jumps. */
  readonly clocksAgree: boolean;
}

/**
 * Records that the history of the hub does not account for: the records of each key must be some of the states of the hub,
 * in the order of the hub, without two equal ones in succession, and none before the hub had that state.
 */
export function rowProblems(options: RowProblemOptions): string[] {
  const problems: string[] = [];
  for (const [key, records] of Map.groupBy(options.records, (record) => record.key)) {
    const problem = problemOfKey(key, { ...options, records });
    if (problem !== null) problems.push(`${options.collection} ${key}: ${problem}`);
  }
  return problems;
}

function problemOfKey(key: string, options: RowProblemOptions): string | null {
  const { records, collection, clocksAgree } = options;
  const states = options.states.get(key);
  if (states === undefined) return 'was never at the hub';
  let at = -1;
  let before: HubState | null = null;
  for (const record of records) {
    const found = states.findIndex((state, index) => index > at && says(collection, record, state));
    const state = states[found];
    if (state === undefined) return whyUnheardOf({ collection, record, states, at });
    if (before !== null && before.text === state.text) return `the same twice: ${where(record)}`;
    if (before === null && record.value === null) return `removed, but never published: ${where(record)}`;
    if (clocksAgree && record.publishedAtMs < state.sinceMs - CLOCKS_DIFFER_MS) {
      return `published before the hub had it: ${where(record)}`;
    }
    at = found;
    before = state;
  }
  return null;
}

function whyUnheardOf(options: {
  collection: string;
  record: TopicRecord;
  states: readonly HubState[];
  at: number;
}): string {
  const { collection, record, states, at } = options;
  const earlier = states.findLastIndex((state, index) => index <= at && says(collection, record, state));
  if (record.value === null) {
    return earlier === -1
      ? `removed, but it never left: ${where(record)}`
      : `removed twice: ${where(record)}`;
  }
  if (earlier === -1) return `content that the hub never had: ${where(record)}`;
  return earlier === at ? `the same twice: ${where(record)}` : `older after newer: ${where(record)}`;
}

function says(collection: string, record: TopicRecord, { row }: HubState): boolean {
  if (row === null || record.value === null) return row === null && record.value === null;
  return differences({ hub: hubWith(row), collection, records: [record] }).length === 0;
}

/** A hub with only this row, as far as the oracle needs it. */
function hubWith(row: Row): ReferenceHub {
  return { district: { snapshot: () => [row] } } as unknown as ReferenceHub;
}

export function where({ topic, partition, offset }: TopicRecord): string {
  return `${topic.slice(topic.lastIndexOf('.') + 1)}/${partition} at ${offset}`;
}
