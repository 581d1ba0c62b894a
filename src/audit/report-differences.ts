import type { Difference, DifferenceKind } from '../core/verify/difference.ts';
import type { RowComparison, TopicView } from '../core/verify/row-comparison.ts';
import type { CollectionName } from '../model/collections.ts';
import type { TenantCollection } from '../session/tenant-parts.ts';
import { confirmDifferences, type ConfirmedDifferences } from './confirm-differences.ts';
import { foreseeWithholding } from './foresee-withholding.ts';
import type { HubRows } from './hub-rows.ts';
import { TopicReader } from '../log/read-only-log.ts';
import { hashedAreas, verifyIndex } from './verify-index.ts';
import { takeRecord, type CollectionReport, type VerifyTools } from './verify-tools.ts';

/** Records between two progress reports. */
const REPORT_EVERY = 1_000;
const OF_THE_HUB: ReadonlySet<DifferenceKind> = new Set(['missing', 'different', 'undecodable']);

export type Verdict = Pick<CollectionReport, 'outcome' | 'why' | 'remedy'>;

/** The records of a collection, its rejects included. */
export interface CollectionTopic {
  readonly view: TopicView;
  /** Reads on to the present end. */
  readonly readOn: () => Promise<void>;
}

export async function readTopic(
  tools: VerifyTools,
  name: CollectionName,
  signal: AbortSignal,
): Promise<CollectionTopic> {
  const view: TopicView = { rows: new Map(), rejects: tools.rejects.of(name) };
  let count = 0;
  const reader = new TopicReader(tools, [name], async (record) => {
    await takeRecord(tools.check, view.rows, record);
    count += 1;
    if (count % REPORT_EVERY === 0)
      tools.onProgress({ collection: name, what: 'records of the topic', count });
  });
  const readOn = async (): Promise<void> => {
    await reader.readOn(signal);
    await tools.rejects.readOn(signal);
  };
  await readOn();
  return { view, readOn };
}

export interface ReportOptions extends CollectionTopic {
  readonly collection: TenantCollection;
  readonly comparison: RowComparison;
  readonly hub: HubRows;
  /** The rows may be another tenant's: no sync publishes them, so a pending difference will stay. */
  readonly isWrongTenant: boolean;
  /** Whether keys that the hub no longer has are subject to the guard. */
  readonly guardsLeftOver: boolean;
  /** The reason to doubt the comparison; null if there is none. */
  readonly doubtIn: (confirmed: ConfirmedDifferences) => Verdict | null;
  readonly signal: AbortSignal;
}

/** Confirms what a comparison found, compares the index with the topic, and reports the differences. */
export async function reportDifferences(
  tools: VerifyTools,
  options: ReportOptions,
): Promise<CollectionReport> {
  const { collection, comparison, hub, view, readOn, signal } = options;
  const { name } = collection;
  const { candidates, hubRows } = comparison;
  const checked = { collection: name, readOn, signal };
  const confirmed = await confirmDifferences(tools, { ...checked, candidates, view, hub });
  const { differences, why: foreseen } = options.isWrongTenant
    ? { differences: confirmed.differences.map(pendingAsWrong), why: null }
    : await foreseeWithholding(tools, collection, {
        differences: confirmed.differences,
        isLoss: ({ kind, key }) =>
          (kind === 'left-over' && options.guardsLeftOver) ||
          (kind === 'different' && confirmed.becameEmpty.has(key)),
        topicKeys: view.rows.size,
        signal,
      });
  const index = await verifyIndex(tools, { ...checked, areas: hashedAreas(view) });
  return {
    collection: name,
    ...(options.doubtIn(confirmed) ?? (confirmed.wasComplete ? COMPARED : NEVER_COMPLETE)),
    foreseen,
    hubRows,
    topicKeys: view.rows.size,
    equal: hubRows - differences.filter(({ kind }) => OF_THE_HUB.has(kind)).length,
    settled: confirmed.resolved,
    indexSkipped: index.skipped,
    differences: [...differences, ...indexDifferences(name, index.keys, differences)],
  };
}

const COMPARED: Verdict = { outcome: 'compared', why: null, remedy: null };
const NEVER_COMPLETE: Verdict = {
  outcome: 'unproven',
  why: 'it has had no complete full sync',
  remedy: 'Wait for the first full sync, or run one: "rollcall pull --full".',
};

function pendingAsWrong(difference: Difference): Difference {
  return difference.state === 'pending' ? { ...difference, state: 'wrong' } : difference;
}

/** Skips keys whose record is already reported as wrong. */
export function indexDifferences(
  collection: CollectionName,
  keys: readonly string[],
  others: readonly Difference[],
): Difference[] {
  const reported = new Set(others.flatMap(({ key, state }) => (state === 'wrong' ? [key] : [])));
  return keys
    .filter((key) => !reported.has(key))
    .map((key) => ({ collection, key, kind: 'index', state: 'wrong' }));
}
