import type { Difference } from '../core/verify/difference.ts';
import { differenceOf, stateOf, type HubSide } from '../core/verify/judge-key.ts';
import { hubSideOf, type Candidates, type RowArea, type TopicView } from '../core/verify/row-comparison.ts';
import { provesMissing } from '../core/verify/judge-scan.ts';
import type { CollectionName } from '../model/collections.ts';
import type { KeyedRow } from '../core/row-changes.ts';
import { confirm } from './confirm.ts';
import { lookUpIndex, readKnown } from './circumstances.ts';
import type { HubRows } from './hub-rows.ts';
import type { VerifyTools } from './verify-tools.ts';

const AREAS = ['rows', 'rejects'] as const;

export interface ConfirmDifferencesOptions {
  readonly collection: CollectionName;
  readonly candidates: Candidates;
  readonly view: TopicView;
  readonly hub: HubRows;
  /** Reads the topics on to their new ends. */
  readonly readOn: () => Promise<void>;
  readonly signal: AbortSignal;
}

export interface ConfirmedDifferences {
  readonly differences: readonly Difference[];
  /** Number of candidates that do not differ at the second check. */
  readonly resolved: number;
  /** Keys that the hub has without any content. */
  readonly becameEmpty: ReadonlySet<string>;
  /** False when something differs and the collection has had no complete full sync: its first load may be running. */
  readonly wasComplete: boolean;
}

/** Checks the candidates again. */
export async function confirmDifferences(
  tools: VerifyTools,
  options: ConfirmDifferencesOptions,
): Promise<ConfirmedDifferences> {
  const { candidates, signal } = options;
  const count = (): number => candidates.rows.size + candidates.rejects.size;
  const before = count();
  let wasComplete = true;
  const differences = await confirm(tools, {
    hasAny: before > 0,
    async check() {
      await askAgain(tools, options);
      const judged = await judge(tools, options);
      ({ wasComplete } = judged);
      return judged.differences;
    },
    signal,
  });
  const becameEmpty = [...candidates.rows].flatMap(([key, hub]) =>
    hub !== null && hub !== 'unreadable' && hub.becameEmpty === true ? [key] : [],
  );
  return { differences, resolved: before - count(), becameEmpty: new Set(becameEmpty), wasComplete };
}

/** Replaces the hub's side of the candidates with what the hub has now. */
async function askAgain(
  tools: VerifyTools,
  { collection, candidates, hub, signal }: ConfirmDifferencesOptions,
): Promise<void> {
  const unanswered = new Set([...candidates.rows.keys(), ...candidates.rejects.keys()]);
  tools.onProgress({ collection, what: 'asking the hub again for', count: unanswered.size });
  const take = (row: KeyedRow): void => {
    for (const area of AREAS) {
      const key = area === 'rows' ? row.key : row.rejectKey;
      if (key === null) continue;
      unanswered.delete(key);
      const belongsHere = area === 'rows' || row.decoded.kind === 'reject';
      if (candidates[area].has(key)) candidates[area].set(key, belongsHere ? hubSideOf(area, row) : null);
    }
  };
  const noteMissing = (key: string): void => {
    unanswered.delete(key);
    for (const area of AREAS) if (candidates[area].has(key)) candidates[area].set(key, null);
  };
  const { rows, notFound } = await hub.ask([...unanswered], signal);
  rows.forEach(take);
  notFound.forEach(noteMissing);
  if (unanswered.size === 0) return;
  // Scan the list for the other keys. The first row of a key counts; a key without a row is missing.
  const scan = await hub.read((page) => {
    for (const row of page) if (unanswered.has(row.key ?? '') || unanswered.has(row.rejectKey)) take(row);
  }, signal);
  if (scan === null || !provesMissing(scan.scopes)) return;
  [...unanswered].forEach(noteMissing);
}

/** The remaining differences; removes the other candidates. */
async function judge(
  tools: VerifyTools,
  options: ConfirmDifferencesOptions,
): Promise<{ differences: Difference[]; wasComplete: boolean }> {
  const { collection, candidates, view, signal } = options;
  const indexed = {
    rows: await lookUpIndex(tools, collection, { area: 'rows', keys: [...candidates.rows.keys()] }),
    rejects: await lookUpIndex(tools, collection, { area: 'rejects', keys: [...candidates.rejects.keys()] }),
  };
  const { progress, withheld, isListLost } = await readKnown(tools, collection, signal);
  await options.readOn();
  const differences: Difference[] = [];
  for (const area of AREAS) {
    for (const [key, hub] of candidates[area]) {
      const kind = kindOf(area, hub, view[area].get(key) ?? null);
      if (kind === null) {
        candidates[area].delete(key);
        continue;
      }
      const state = stateOf(kind, hub, {
        index: indexed[area] === undefined ? undefined : (indexed[area].get(key)?.toString('latin1') ?? null),
        isWithheld: area === 'rows' && (withheld.has(key) || (isListLost && kind === 'left-over')),
        watermarkMs: progress?.watermarkMs ?? null,
      });
      differences.push({ collection, key, kind, state });
    }
  }
  return { differences, wasComplete: progress !== null && progress.lastCompleteFull !== null };
}

function kindOf(area: RowArea, hub: HubSide | null, topic: string | null) {
  const kind = differenceOf({ hub, topic });
  if (area === 'rows' || kind === null) return kind;
  return kind === 'left-over' ? 'reject-left-over' : 'reject-missing';
}
