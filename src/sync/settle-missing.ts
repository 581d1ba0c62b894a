import type { PageMemory } from '../core/pages/page-memory.ts';
import {
  explainShort,
  MISSES_NEEDED,
  judgeScope,
  type ScanEvidence,
  type ScopeVerdict,
  type Shortfall,
} from '../core/deletions/evidence.ts';
import { settle, type Settlement } from '../core/deletions/missing.ts';
import { isOtherHeld } from '../core/deletions/waiting-list.ts';
import { localDate } from '../core/full-pull-time.ts';
import type { KeyedRow } from '../core/rows/row-changes.ts';
import type { SyncClock } from '../core/watermark.ts';
import { isoOrNull } from '../core/words.ts';
import type { CollectionName } from '../model/collections.ts';
import type { DecisionRecord, DeletionState } from '../model/progress.ts';
import type { Reading } from '../source/source-scan.ts';
import type { Source } from '../source/source.ts';
import { hasSeen, type ActiveSync } from '../table/active-sync.ts';
import type { CollectionWriter } from '../table/collection-writer.ts';
import type { MissingRows } from '../table/missing-rows.ts';
import type { FoundKeys } from '../table/table.ts';
import type { Tenant, TenantCollection } from '../table/tenant.ts';
import type { HubFindings } from './hub-findings.ts';
import type { ScopeAnswers } from './scope-answers.ts';
import type { Approved } from './sync-result.ts';

/** A collection of a session. */
export interface MirroredCollection {
  readonly tenant: Tenant;
  readonly settings: TenantCollection;
  readonly writer: CollectionWriter;
  readonly source: Source;
  readonly missing: MissingRows;
  /** The pages of earlier full syncs; null where every page is to be parsed. */
  readonly pages: PageMemory | null;
  readonly findings: HubFindings;
  /** The watermark that the session began with: another process, with another overlap, may have stored it. */
  readonly inheritedWatermarkMs: number | null;
  /** Throws when the topics have lost records that a full sync compares with. */
  readonly requireRecords: () => Promise<void>;
  /** The collections of the session. */
  readonly all: ReadonlyMap<CollectionName, MirroredCollection>;
}

/** A running sync: what it reads, and, as `sync`, what the writer counts of it. */
export interface RunningSync {
  readonly own: MirroredCollection;
  readonly sync: ActiveSync;
  readonly isConfirming: boolean;
  readonly approved: Approved | null;
  readonly reading: Reading;
  readonly answers: ScopeAnswers;
  /** The scopes that the sync reads; null: all. */
  readonly some: ReadonlySet<string> | null;
  readonly knownRowsBefore: number;
  /** Values that had content and have none now: the end of the sync decides on them. */
  readonly becameEmpty: KeyedRow[];
  readonly onPage: (() => void) | undefined;
  readonly signal: AbortSignal;
}

/** The result of a sync's scans; the writer has their rows. */
export interface Scanned {
  readonly scans: readonly ScanEvidence[];
  readonly clock: SyncClock;
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
export async function settleMissing(run: RunningSync, { scans }: Scanned): Promise<Settled> {
  const { own, sync, approved: approval } = run;
  const { tenant, writer, source, missing } = own;
  const { scopes } = run.reading;
  const verdicts = new Map(scans.map((scan) => [scan.scope, judgeScope(scan)]));
  const empty = new Map(run.becameEmpty.flatMap((row) => (row.key === null ? [] : [[row.key, row]])));
  const verdictOf = (key: string): ScopeVerdict | undefined => verdicts.get(source.scopeOf(key));
  const counts = (key: string): boolean => {
    const verdict = verdictOf(key);
    // A scope that the sync did not read counts if it does not exist any more.
    return verdict === undefined ? !scopes.has(source.scopeOf(key)) : verdict.kind === 'complete';
  };
  const isShort = (key: string): boolean => verdictOf(key)?.kind === 'short';
  const unseen = (test: (key: string) => boolean): Promise<FoundKeys> =>
    writer.read((table) => table.unseen('rows', sync, (key) => !empty.has(key) && test(key)));
  const isInDoubt = [...verdicts.values()].some(({ kind }) => kind === 'nameless' || kind === 'inconclusive');
  const inDoubt = isInDoubt ? (await unseen((key) => !counts(key) && !isShort(key))).count : 0;
  // Last, so that little time passes until the commit in which another sync may see a row.
  const found = await unseen((key) => counts(key) || isShort(key));
  sync.stats.rowsNotFound = found.count + inDoubt + empty.size;
  const before = writer.committed.settled.deletions;
  const removed = removedToday(own, writer.progress?.deletions);
  // Values that became empty today are still rows.
  const known = empty.size === 0 ? run.knownRowsBefore : Math.max(0, run.knownRowsBefore - removed);
  const doubt = sync.stats.rowsNotFound > 0 ? foreignBeside(own) : null;
  const judged = doubt ?? judgeSync(source, verdicts, { unseen: found.keys, known });
  const heldSinceMs = before?.heldSinceMs ?? null;
  const isOtherHeld = isOtherHeldBeside(own);
  const isListLost = heldSinceMs !== null && missing.keys === null;
  if (doubt !== null || !isSettled(verdicts, judged, isListLost))
    return { ...judged, unconfirmed: 0, confirmAtMs: null, approved: null, remember: nothing };
  const wasSeen = (key: string): boolean => hasSeen(sync, 'rows', key) && !empty.has(key);
  missing.noteSeen([...(missing.keys?.keys() ?? [])].filter(wasSeen));
  const settlement = settle({
    atMs: tenant.runtime.now(),
    before: missing.keys ?? new Map(),
    counts,
    missed: [...found.keys, ...empty.keys()].filter(counts),
    unlisted: found.count - found.keys.length,
    missesNeeded: (key) => {
      const verdict = verdictOf(key);
      return verdict?.kind === 'complete' ? verdict.missesNeeded : MISSES_NEEDED;
    },
    heldSinceMs,
    isListLost,
    isOtherHeld,
    approved: approval?.keys ?? null,
    known,
    removedToday: removedToday(own, before),
    limits: tenant.guard,
  });
  for (const decision of decisionsIn(run, settlement, heldSinceMs)) writer.committed.decide(decision);
  const short = judged.short && { ...judged.short, isCovered: judged.inconclusive === null };
  await removeSettled(run, { ...settlement, short }, empty);
  // A confirming sync asks for none.
  const confirmsAll = judged.short !== null || run.answers.mayHaveMore;
  const isOwed = !run.isConfirming && (settlement.unconfirmed > 0 || confirmsAll);
  const confirmAtMs = isOwed ? tenant.runtime.now() + tenant.confirmAfterMs : null;
  return {
    ...judged,
    unconfirmed: settlement.unconfirmed,
    confirmAtMs,
    approved: approval === null ? null : settlement.approved,
    async remember() {
      // Another sync may have read one of them since.
      const keys = new Map([...settlement.wait].filter(([key]) => !wasSeen(key)));
      const { syncId } = sync.stats;
      await missing.replace({ syncId, confirmAtMs, confirmsAll, keys });
      const { unconfirmed: rows } = settlement;
      // During a hold a second miss removes nothing either.
      if (rows === 0 || settlement.heldSinceMs !== null || isOtherHeld) return;
      const event = { kind: 'missing', collection: own.settings.name, rows } as const;
      tenant.emit({ type: 'deletion', event: { ...event, confirmAt: isoOrNull(confirmAtMs) } });
    },
  };
}

/** `YYYY-MM-DD` in the zone of the daily full sync. */
function today({ tenant, settings }: MirroredCollection): string {
  return localDate(tenant.runtime.now(), settings.fullPull.timeZone);
}

function removedToday(own: MirroredCollection, state: DeletionState | undefined): number {
  return state?.day === today(own) ? state.removed : 0;
}

/** Whether another collection's hold keeps the removals of this one. */
function isOtherHeldBeside({ settings, all }: MirroredCollection): boolean {
  const known = [...all].map(([collection, { writer }]) => {
    const { heldSinceMs = null } = writer.progress?.deletions ?? {};
    return { collection, heldSinceMs };
  });
  return isOtherHeld(settings.name, known);
}

/** While the rows of another collection may be another tenant's, a row that the hub does not show proves nothing. */
function foreignBeside(own: MirroredCollection): SyncVerdict | null {
  const [foreign] = [...own.all].find(([, each]) => each !== own && each.writer.committed.isForeign) ?? [];
  const why = `the hub may be another tenant's: it shows hardly any published row of ${foreign} (HUB_FOREIGN_DATA)`;
  return foreign === undefined ? null : { inconclusive: why, short: null };
}

/** `heldSinceMs`: before the sync. */
function decisionsIn(
  { own, approved }: RunningSync,
  settlement: Settlement,
  heldSinceMs: number | null,
): readonly DecisionRecord[] {
  const { holdBegins, withheld: rows, why, approved: removed } = settlement;
  const at = { collection: own.settings.name, atMs: own.tenant.runtime.now() };
  const decisions: DecisionRecord[] = [];
  if (approved !== null)
    decisions.push({ ...at, ...approved.given, kind: 'approved', rows: approved.keys.size, removed });
  else if (heldSinceMs !== null && settlement.heldSinceMs === null) decisions.push({ ...at, kind: 'healed' });
  if (holdBegins) decisions.push({ ...at, kind: 'held', rows, why });
  return decisions;
}

/** Each commit from the first removal on carries the state. */
async function removeSettled(
  { own, sync }: RunningSync,
  settlement: Settlement & Pick<DeletionState, 'short'>,
  empty: ReadonlyMap<string, KeyedRow>,
): Promise<void> {
  const { writer } = own;
  const { heldSinceMs, withheld, why, removedToday: removed, short } = settlement;
  sync.stats.rowsWithheld = withheld;
  sync.stats.rowsNotFound -= settlement.remove.length;
  const settledBy = sync.stats.syncId;
  writer.committed.settle({ settledBy, day: today(own), removed, heldSinceMs, why, short }, withheld);
  const emptied = settlement.remove.flatMap((key) => empty.get(key) ?? []);
  if (emptied.length > 0) await writer.publish(sync, emptied);
  const gone = settlement.remove.filter((key) => !empty.has(key));
  await writer.remove(sync, 'rows', gone);
}

type Verdicts = ReadonlyMap<string, ScopeVerdict>;

/** Whether the sync settles something. A list that was lost is only what a whole sync misses. */
function isSettled(verdicts: Verdicts, { short }: SyncVerdict, isListLost: boolean): boolean {
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
function judgeSync(
  source: Source,
  verdicts: Verdicts,
  { unseen, known }: { unseen: readonly string[]; known: number },
): SyncVerdict {
  const all = [...verdicts];
  const doubts = all.flatMap(([, verdict]) => (verdict.kind === 'inconclusive' ? [verdict] : []));
  const isAllUnread =
    known > 0 && doubts.length === verdicts.size && doubts.every(({ isUnread }) => isUnread);
  const doubt = doubts.find(({ isUnread }) => !isUnread || isAllUnread);
  const shorts = all.flatMap(([scope, verdict]) => (verdict.kind === 'short' ? [{ scope, ...verdict }] : []));
  if (shorts.length === 0) return { inconclusive: doubt?.why ?? null, short: null };
  const sum = (of: keyof Shortfall): number =>
    shorts.reduce((before, { shortfall }) => before + shortfall[of], 0);
  const short = { rows: sum('rows'), total: sum('total'), repeated: sum('repeated') };
  const isCovered = shorts.every(({ scope, shortfall, isComposed }) => {
    const others = isComposed ? 0 : unseen.filter((key) => source.scopeOf(key) === scope).length;
    return shortfall.rows + others >= shortfall.total;
  });
  const why = isCovered ? null : explainShort(short);
  return { inconclusive: doubt?.why ?? why, short };
}
