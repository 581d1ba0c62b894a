import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { differences } from '../../integration/support/hub-oracle.ts';
import type { TopicRecord } from '../../integration/support/read-topics.ts';
import type { HubState, Row } from './hub-history.ts';

/** By the clocks of two processes of one machine. */
const CLOCKS_DIFFER_MS = 50;

export interface RowProblemOptions {
  /** All committed records of the collection's topic, from the beginning. */
  readonly records: readonly TopicRecord[];
  readonly states: ReadonlyMap<string, readonly HubState[]>;
  readonly collection: string;
  /** Whether times of publishing mean something: not while the machine's clock jumps. */
  readonly clocksAgree: boolean;
}

/**
 * What the records of single keys say that the hub's own history does not bear out: each key's records must be some of
 * the hub's states, in the hub's order, no two neighbours alike, and none before the hub had it so.
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
    if (before === null && record.value === null) return `removed, though never told: ${where(record)}`;
    if (clocksAgree && record.publishedAtMs < state.sinceMs - CLOCKS_DIFFER_MS) {
      return `told before the hub had it so: ${where(record)}`;
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
  if (earlier === -1) return `never so at the hub: ${where(record)}`;
  return earlier === at ? `the same twice: ${where(record)}` : `older after newer: ${where(record)}`;
}

function says(collection: string, record: TopicRecord, { row }: HubState): boolean {
  if (row === null || record.value === null) return row === null && record.value === null;
  return differences({ hub: hubWith(row), collection, records: [record] }).length === 0;
}

/** As far as the oracle looks at it: a hub that holds this one row. */
function hubWith(row: Row): ReferenceHub {
  return { district: { snapshot: () => [row] } } as unknown as ReferenceHub;
}

export function where({ topic, partition, offset }: TopicRecord): string {
  return `${topic.slice(topic.lastIndexOf('.') + 1)}/${partition} at ${offset}`;
}
