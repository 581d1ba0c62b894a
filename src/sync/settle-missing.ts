import type { DeletionEvent } from '../core/pipeline-events.ts';
import type { ScopeVerdict, Shortfall } from '../core/deletions/evidence.ts';
import { type GuardLimits, settle, type Settlement } from '../core/deletions/missing.ts';
import type { KeyedRow } from '../core/row-changes.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Approval, DeletionState } from '../model/progress.ts';
import type { MissingRows } from '../table/missing-rows.ts';

export interface Settling {
  readonly collection: CollectionName;
  readonly missing: MissingRows;
  readonly limits: GuardLimits;
  readonly confirmAfterMs: number;
  /** `YYYY-MM-DD` in the zone of the daily full sync. */
  readonly today: () => string;
  readonly now: () => number;
  /** Whether another collection's hold keeps the removals of this one. */
  readonly isOtherHeld: () => boolean;
  readonly emit: (event: DeletionEvent) => void;
}

/** The rows of a full sync whose scans have ended. */
export interface EndedScans {
  readonly syncId: string;
  readonly isConfirming: boolean;
  /** By scope. */
  readonly verdicts: ReadonlyMap<string, ScopeVerdict>;
  readonly scopeOf: (key: string) => string;
  /** Whether the scope of a key that the sync did not read exists. */
  readonly exists: (scope: string) => boolean;
  /** Values that have become empty: they count as missed. */
  readonly becameEmpty: readonly KeyedRow[];
  readonly approval: { readonly keys: ReadonlySet<string>; readonly given: Omit<Approval, 'removed'> } | null;
  /** What the log knows from before. */
  readonly before: DeletionState | undefined;
}

/** The collection's rows, as the sync sees them. */
export interface Rows {
  /** Known before the sync. */
  readonly known: number;
  /** Known keys that were not seen and pass a test; a limited number of them, and how many there are. */
  unseen(
    test: (key: string) => boolean,
  ): Promise<{ readonly keys: readonly string[]; readonly count: number }>;
  isSeen(key: string): boolean;
  /** Called before the first removal: each commit from now on carries the state. */
  note(state: DeletionState, withheld: number): void;
  remove(keys: readonly string[]): Promise<void>;
  publish(rows: readonly KeyedRow[]): Promise<void>;
}

export interface Settled {
  /** Why the sync is not complete; null if it is. */
  readonly inconclusive: string | null;
  readonly short: Shortfall | null;
  /** Rows that another miss is needed for, and when the confirming sync is due (ms since the epoch). */
  readonly unconfirmed: number;
  readonly confirmAtMs: number | null;
  /** How many approved removals are published; null: the sync counted for none, or nothing was approved. */
  readonly approved: number | null;
  /** Call this after the sync's last commit. */
  readonly remember: () => Promise<void>;
}

/** Settles what a full sync missed: the removals are staged, and the rest is remembered after the commit. */
export async function settleMissing(parts: Settling, scans: EndedScans, rows: Rows): Promise<Settled> {
  const { missing, now } = parts;
  const { verdicts, scopeOf, before, approval } = scans;
  const empty = new Map(scans.becameEmpty.flatMap((row) => (row.key === null ? [] : [[row.key, row]])));
  const verdictOf = (key: string): ScopeVerdict | undefined => verdicts.get(scopeOf(key));
  const counts = (key: string): boolean => {
    const verdict = verdictOf(key);
    return verdict === undefined ? !scans.exists(scopeOf(key)) : verdict.kind === 'complete';
  };
  const isShort = (key: string): boolean => verdictOf(key)?.kind === 'short';
  const found = await rows.unseen((key) => !empty.has(key) && (counts(key) || isShort(key)));
  const judged = judgeSync(scans, found.keys, rows.known);
  report(parts, scans, judged);
  const known = missing.keys;
  const heldSinceMs = before?.heldSinceMs ?? null;
  const isListLost = heldSinceMs !== null && known === null;
  if (!isSettled(scans, judged, isListLost))
    return { ...judged, unconfirmed: 0, confirmAtMs: null, approved: null, remember: nothing };
  const wasSeen = (key: string): boolean => rows.isSeen(key) && !empty.has(key);
  missing.noteSeen([...(known?.keys() ?? [])].filter(wasSeen));
  const day = parts.today();
  const settlement = settle({
    atMs: now(),
    before: missing.keys ?? new Map(),
    counts,
    missed: [...found.keys, ...empty.keys()].filter(counts),
    unlisted: found.count - found.keys.length,
    missesNeeded: (key) => {
      const verdict = verdictOf(key);
      return verdict?.kind === 'complete' ? verdict.missesNeeded : 2;
    },
    heldSinceMs,
    isListLost,
    isOtherHeld: parts.isOtherHeld(),
    approved: approval?.keys ?? null,
    known: rows.known,
    removedToday: before?.day === day ? before.removed : 0,
    limits: parts.limits,
  });
  const state: DeletionState = {
    settledBy: scans.syncId,
    day,
    removed: settlement.removedToday,
    heldSinceMs: settlement.heldSinceMs,
    why: settlement.heldSinceMs === null ? null : (settlement.why ?? before?.why ?? null),
    approval:
      approval === null ? (before?.approval ?? null) : { ...approval.given, removed: settlement.approved },
  };
  rows.note(state, settlement.withheld);
  await rows.publish(settlement.remove.flatMap((key) => empty.get(key) ?? []));
  await rows.remove(settlement.remove.filter((key) => !empty.has(key)));
  const confirmAtMs = confirmAt(parts, scans, { settlement, judged });
  return {
    ...judged,
    unconfirmed: settlement.unconfirmed,
    confirmAtMs,
    approved: approval === null ? null : settlement.approved,
    async remember() {
      const { syncId } = scans;
      const confirmsAll = judged.short !== null;
      await missing.replace({ syncId, confirmAtMs, confirmsAll, keys: settlement.wait });
      reportSettled(parts, { settlement, confirmAtMs, approval });
    },
  };
}

/** Whether the sync settles something. A list that was lost is only what a whole sync misses. */
function isSettled({ verdicts }: EndedScans, { short }: SyncVerdict, isListLost: boolean): boolean {
  const all = [...verdicts.values()];
  const isWhole = ({ kind, ...verdict }: ScopeVerdict): boolean =>
    kind === 'complete' || ('isUnread' in verdict && verdict.isUnread);
  if (isListLost && !all.every(isWhole)) return false;
  // Without a scope to read, all that is missing belongs to scopes that exist no more.
  return short !== null || all.length === 0 || all.some(({ kind }) => kind === 'complete');
}

const nothing = (): Promise<void> => Promise.resolve();

type SyncVerdict = Pick<Settled, 'inconclusive' | 'short'>;

/**
 * Whether the sync is complete. A short one is, if the rows known after it are no fewer than the hub counts. A parent that the hub
 * does not find has no rows to copy, and one that it refuses is a reject, unless that is so of all.
 */
function judgeSync({ verdicts, scopeOf }: EndedScans, unseen: readonly string[], known: number): SyncVerdict {
  const all = [...verdicts];
  const doubts = all.flatMap(([, verdict]) => (verdict.kind === 'inconclusive' ? [verdict] : []));
  const isAllUnread =
    known > 0 && doubts.length === verdicts.size && doubts.every(({ isUnread }) => isUnread);
  const doubt = doubts.find(({ isUnread }) => !isUnread || isAllUnread);
  const shorts = all.flatMap(([scope, verdict]) => (verdict.kind === 'short' ? [{ scope, ...verdict }] : []));
  if (shorts.length === 0) return { inconclusive: doubt?.why ?? null, short: null };
  const short = {
    rows: shorts.reduce((sum, { shortfall }) => sum + shortfall.rows, 0),
    total: shorts.reduce((sum, { shortfall }) => sum + shortfall.total, 0),
  };
  const isCovered = shorts.every(({ scope, shortfall, isComposed }) => {
    const others = isComposed ? 0 : unseen.filter((key) => scopeOf(key) === scope).length;
    return shortfall.rows + others >= shortfall.total;
  });
  const why = isCovered ? null : `${short.rows} of ${short.total} rows came`;
  return { inconclusive: doubt?.why ?? why, short };
}

/** A confirming sync asks for none. */
function confirmAt(
  { confirmAfterMs, now }: Settling,
  { isConfirming }: EndedScans,
  { settlement, judged }: { settlement: Settlement; judged: SyncVerdict },
): number | null {
  const isOwed = !isConfirming && (settlement.unconfirmed > 0 || judged.short !== null);
  return isOwed ? now() + confirmAfterMs : null;
}

function report({ emit, collection }: Settling, { verdicts }: EndedScans, { short }: SyncVerdict): void {
  if (short !== null) emit({ kind: 'short', collection, ...short });
  for (const verdict of verdicts.values()) {
    if (verdict.kind !== 'nameless') continue;
    emit({ kind: 'uncounted', collection, why: verdict.why });
    return;
  }
}

function reportSettled(
  { emit, collection }: Settling,
  settled: { settlement: Settlement; confirmAtMs: number | null; approval: EndedScans['approval'] },
): void {
  const { settlement, confirmAtMs, approval } = settled;
  if (settlement.why !== null)
    emit({ kind: 'held', collection, rows: settlement.withheld, why: settlement.why });
  if (settlement.unconfirmed > 0) {
    const confirmed = confirmAtMs === null ? null : new Date(confirmAtMs).toISOString();
    emit({ kind: 'missing', collection, rows: settlement.unconfirmed, confirmAt: confirmed });
  }
  if (approval !== null)
    emit({ kind: 'approved', collection, ...approval.given, removed: settlement.approved });
}
