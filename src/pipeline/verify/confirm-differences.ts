import type { Difference } from '../../core/verify/difference.ts';
import { differenceOf, stateOf, type HubSide } from '../../core/verify/judge-key.ts';
import {
  hubSideOf,
  type Candidates,
  type RowArea,
  type TopicView,
} from '../../core/verify/row-comparison.ts';
import { provesMissing } from '../../core/verify/judge-scan.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { KeyedRow } from '../../core/page-decision.ts';
import { lookUpIndex, readKnown } from './circumstances.ts';
import { wantedSize, type HubRows } from './hub-rows.ts';
import type { VerifyTools } from './verify-tools.ts';

/** A difference that is still there after so many looks is told. */
const ATTEMPTS = 3;
/** The markers of a commit may come somewhat after its answer. */
const BETWEEN_ATTEMPTS_MS = 1_000;
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
  readonly settled: number;
  /** Keys that the hub still has, without any content. */
  readonly becameEmpty: ReadonlySet<string>;
  /** False where something differs and the collection was never read whole: its first load may be under way. */
  readonly wasComplete: boolean;
}

/**
 * Looks at what seems to differ once more: hub and topic were read at different times. First the hub is asked, then the
 * index and the progress, and then the topic is read on: whatever a pass has done by then shows.
 */
export async function confirmDifferences(
  tools: VerifyTools,
  options: ConfirmDifferencesOptions,
): Promise<ConfirmedDifferences> {
  const { candidates } = options;
  const count = (): number => candidates.rows.size + candidates.rejects.size;
  const before = count();
  let differences: Difference[] = [];
  let wasComplete = true;
  for (let attempt = 1; attempt <= ATTEMPTS && count() > 0; attempt += 1) {
    if (attempt > 1) await tools.parts.sleep(BETWEEN_ATTEMPTS_MS, options.signal);
    await askAgain(tools, options);
    ({ differences, wasComplete } = await judge(tools, options));
    if (differences.every(({ state }) => state !== 'wrong')) break;
  }
  const becameEmpty = [...candidates.rows].flatMap(([key, hub]) =>
    hub !== null && hub !== 'unreadable' && hub.becameEmpty === true ? [key] : [],
  );
  return { differences, settled: before - count(), becameEmpty: new Set(becameEmpty), wasComplete };
}

/** Replaces what the hub had under the candidates' keys by what it has now. */
async function askAgain(
  tools: VerifyTools,
  { collection, candidates, view, hub, signal }: ConfirmDifferencesOptions,
): Promise<void> {
  const untold = new Set([...candidates.rows.keys(), ...candidates.rejects.keys()]);
  tools.onProgress({ collection, what: 'asking the hub again for', count: untold.size });
  const take = (readings: readonly KeyedRow[]): void => {
    for (const reading of readings) {
      for (const area of AREAS) {
        const key = area === 'rows' ? reading.key : reading.rejectKey;
        if (key === null) continue;
        untold.delete(key);
        if (!candidates[area].has(key)) continue;
        const isThere = area === 'rows' || reading.decoded.kind === 'reject';
        candidates[area].set(key, isThere ? hubSideOf(area, reading) : null);
      }
    }
  };
  const { readings, gone } = await hub.ask([...untold], signal);
  take(readings);
  for (const key of gone) {
    untold.delete(key);
    for (const area of AREAS) if (candidates[area].has(key)) candidates[area].set(key, null);
  }
  if (untold.size === 0) return;
  // Each key's first place counts, and what is not met is not there.
  const met = new Map<string, KeyedRow>();
  const scan = await hub.read((page) => {
    for (const reading of page) {
      const keys = [reading.key, reading.rejectKey].filter((key) => key !== null && untold.has(key));
      for (const key of keys) if (key !== null && !met.has(key)) met.set(key, reading);
    }
  }, signal);
  const missing = [...untold].filter((key) => !met.has(key));
  take([...new Set(met.values())]);
  if (scan === null || !provesMissing({ ...scan, knownRows: wantedSize(view.rows, hub) })) return;
  for (const key of missing) {
    for (const area of AREAS) if (candidates[area].has(key)) candidates[area].set(key, null);
  }
}

/** What still differs; what does not is no candidate any more. */
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
