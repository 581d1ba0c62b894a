import { randomInt } from 'node:crypto';
import type { KeyedReading } from '../../core/page-decision.ts';
import type { Difference, DifferenceKind } from '../../core/verify/difference.ts';
import { RowComparison, type TopicView } from '../../core/verify/row-comparison.ts';
import type { TopicEntry } from '../../core/verify/topic-entry.ts';
import { RollcallError } from '../../errors.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { TenantCollection } from '../tenant.ts';
import { EMPTY_LIST, hubRows } from './hub-rows.ts';
import { settleRows } from './settle-rows.ts';
import { TopicReading } from './topic-reading.ts';
import { verifyIndex } from './verify-index.ts';
import { takeRecord, type CollectionReport, type VerifyTools } from './verify-tools.ts';

/** Between two reports of how far it is. */
const REPORT_EVERY = 1_000;
const SEEDS = 2 ** 31;

/** Compares a collection whose records are rows of a list. Throws what the hub, Kafka, the registry or Redis fail with. */
export async function verifyRows(
  tools: VerifyTools,
  collection: TenantCollection,
  options: {
    readonly onReading?: ((reading: KeyedReading) => void) | undefined;
    readonly signal: AbortSignal;
  },
): Promise<CollectionReport> {
  const { name } = collection;
  const { signal, onReading } = options;
  const view: TopicView = { rows: new Map(), rejects: tools.rejects.of(name) };
  const topic = readingOf(tools, name, view.rows);
  const readOn = async (): Promise<void> => {
    await topic.readOn(signal);
    await tools.rejects.readOn(signal);
  };
  await readOn();
  const hub = hubRows(tools.parts, collection);
  const comparison = new RowComparison(view, { seed: randomInt(SEEDS), skipsEmpty: false });
  let rows = 0;
  const take = (readings: readonly KeyedReading[]): void => {
    for (const reading of readings) {
      comparison.take(reading);
      onReading?.(reading);
    }
    rows += readings.length;
    tools.onProgress({ collection: name, what: 'rows of the hub', count: rows });
  };
  const why = await hub.read(take, signal).catch((error: unknown) => {
    throw withKeys(error, name, view.rows.size);
  });
  comparison.finish();
  const isEmptyBoth = why === EMPTY_LIST && view.rows.size === 0 && view.rejects.size === 0;
  const { candidates } = comparison;
  const { differences, settled, wasWhole } = await settleRows(tools, {
    collection: name,
    candidates,
    view,
    hub,
    readOn,
    signal,
  });
  const index = await verifyIndex(tools, {
    collection: name,
    areas: (['rows', 'rejects'] as const).map((area) => ({
      area,
      entries: view[area],
      hashIn: (_key, value) => value.toString('latin1'),
    })),
    readOn,
    signal,
  });
  const unproven = isEmptyBoth ? null : (why ?? (wasWhole ? null : NEVER_WHOLE));
  const isExplained = differences.every(({ kind, state }) => kind !== 'left-over' || state === 'withheld');
  return {
    collection: name,
    outcome: unproven === null || (unproven === EMPTY_LIST && isExplained) ? 'compared' : 'unproven',
    why: unproven,
    remedy: unproven === null ? null : unproven === NEVER_WHOLE ? NEVER_WHOLE_REMEDY : UNPROVEN_REMEDY,
    hubRows: comparison.hubRows,
    topicKeys: view.rows.size,
    equal: comparison.hubRows - differences.filter(({ kind }) => OF_THE_HUB.has(kind)).length,
    settled,
    indexSkipped: index.skipped,
    differences: [...differences, ...indexDifferences(name, index.keys, differences)],
  };
}

/** What the hub does not offer, and never did, is no difference. */
function withKeys(error: unknown, collection: CollectionName, keys: number): unknown {
  if (keys === 0 || !(error instanceof RollcallError) || error.code !== 'HUB_NOT_OFFERED') return error;
  const message = `The hub does not offer ${collection}, and the topic has ${keys} keys of it`;
  return new RollcallError('HUB_REQUEST_REFUSED', message, {
    remedy: 'Check hub.baseUrl; or disable the collection.',
    cause: error,
  });
}

export const NEVER_WHOLE = 'it has never been read whole';
export const NEVER_WHOLE_REMEDY = 'Wait for the first full pass, or make one: "rollcall pull --full".';
const UNPROVEN_REMEDY =
  "Nothing is known of what the hub has. Look at what it answers, and at the token's rights.";

const OF_THE_HUB: ReadonlySet<DifferenceKind> = new Set(['missing', 'different', 'undecodable']);

/** Where the record itself is at fault, the index is not. */
export function indexDifferences(
  collection: CollectionName,
  keys: readonly string[],
  others: readonly Difference[],
): Difference[] {
  const told = new Set(others.flatMap(({ key, state }) => (state === 'wrong' ? [key] : [])));
  return keys
    .filter((key) => !told.has(key))
    .map((key) => ({ collection, key, kind: 'index', state: 'wrong' }));
}

function readingOf(tools: VerifyTools, name: CollectionName, entries: Map<string, TopicEntry>): TopicReading {
  let count = 0;
  return new TopicReading(tools, [name], async (record) => {
    await takeRecord(tools.check, entries, record);
    count += 1;
    if (count % REPORT_EVERY === 0)
      tools.onProgress({ collection: name, what: 'records of the topic', count });
  });
}
