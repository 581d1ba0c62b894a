import type { Completeness } from '../core/completeness.ts';
import { triageCandidates, whyWithhold, type GuardLimits } from '../core/deletion-guard.ts';
import type { KeyedReading } from '../core/page-decision.ts';
import { RollcallError, describeError } from '../errors.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Progress } from '../model/progress.ts';
import type { DeletionMemory } from '../state/index-store.ts';
import type { ActivePass, CollectionWriter, UnseenKeys } from './collection-writer.ts';

/** More candidates than this are not asked for one by one; they must be missing from two passes (design). */
const CONFIRM_AT_MOST = 100;
const NONE_UNSEEN: UnseenKeys = { keys: [], count: 0 };

export interface DeletionParts {
  readonly collection: CollectionName;
  readonly writer: CollectionWriter;
  readonly memory: DeletionMemory;
  /** Every collection of the tenant: what one withholds, all withhold. */
  readonly tenantCollections: readonly CollectionName[];
  /** Rows known now, of any of them. */
  readonly knownRows: (collection: CollectionName) => number;
  readonly limits: GuardLimits;
  /** Which of these keys the hub still has; throws when that cannot be told. */
  readonly findExisting: (keys: readonly string[]) => Promise<ReadonlySet<string>>;
  /** `YYYY-MM-DD` in the tenant's time zone. */
  readonly today: () => string;
  readonly now: () => number;
  readonly say: (event: DeletionEvent) => void;
}

export type DeletionEvent =
  | {
      readonly kind: 'withheld';
      readonly collection: CollectionName;
      readonly rows: number;
      readonly why: string;
    }
  | { readonly kind: 'unproven'; readonly collection: CollectionName; readonly why: string }
  | {
      readonly kind: 'second-pass';
      readonly collection: CollectionName;
      readonly rows: number;
      readonly why: string;
    };

export interface DeletionResult {
  readonly withheld: number;
  /** Candidates wait for another complete pass to miss them too. */
  readonly wantsSecondPass: boolean;
  /**
   * To be called once the removals are committed. What adds caution is remembered before, what lifts it only then: a
   * process that crashed or was fenced in between has at worst been too careful.
   */
  readonly remember: () => Promise<void>;
}

/**
 * Settles what a full pass did not see: removes it, asks again, waits for a second pass, or withholds it for a
 * person. The only place where the absence of a row leads to a removal (invariant 3).
 */
export async function settleDeletions(
  parts: DeletionParts,
  pass: ActivePass,
  judged: {
    completeness: Completeness;
    knownRowsBefore: number;
    /** Values that held something and hold nothing now: they go out, or are withheld, like removals. */
    emptied: readonly KeyedReading[];
  },
): Promise<DeletionResult> {
  const { collection, writer, memory } = parts;
  const { completeness, knownRowsBefore } = judged;
  const { seen } = pass;
  if (seen === null) return { withheld: 0, wantsSecondPass: false, remember: () => Promise.resolve() };
  const waited = await memory.missing(collection);
  const emptiedKeys = new Set(judged.emptied.flatMap(({ key }) => key ?? []));
  // What this pass met was not missed by two passes in a row.
  const missedBefore = new Map([...waited].filter(([key]) => !seen.has(key)));
  const stillWaiting = new Map([...waited].filter(([key]) => !seen.has(key) || emptiedKeys.has(key)));
  const listed = await memory.withheld(collection);
  const withheldBefore = await countWithheld(memory, collection, writer.progress);
  if (completeness.kind === 'unproven') {
    parts.say({ kind: 'unproven', collection, why: completeness.why });
    return {
      withheld: withheldBefore,
      wantsSecondPass: false,
      remember: () => memory.setMissing(collection, stillWaiting),
    };
  }
  const unseen = writer.hasMetAll(pass) ? NONE_UNSEEN : await writer.unseen('rows', seen);
  const candidates = unseen.keys;
  // One answer without content is no more proof than one without rows: the next pass must say the same.
  const emptied = judged.emptied.filter(({ key }) => key !== null && waited.has(key));
  const emptiedOnce = judged.emptied.flatMap(({ key }) => (key !== null && !waited.has(key) ? [key] : []));
  const needsSecondPass = completeness.kind === 'needs-second-pass';
  const countable = needsSecondPass ? candidates.filter((key) => missedBefore.has(key)) : candidates;
  const losses = [...countable, ...emptied.flatMap(({ key }) => key ?? [])];
  const held = await holdBack({
    parts,
    unseen,
    losses,
    emptiedKeys,
    listed,
    withheldBefore,
    knownRowsBefore,
  });
  if (held !== null) {
    await withhold(parts, held.keys);
    parts.say({ kind: 'withheld', collection, rows: held.count, why: held.why });
    return {
      withheld: held.count,
      wantsSecondPass: false,
      remember: () => memory.setMissing(collection, stillWaiting),
    };
  }
  await writer.accept(pass, { readings: emptied, stamp: writer.stamp() });

  const triage = triageCandidates({
    candidates,
    missedBefore,
    needsSecondPass,
    confirmAtMost: CONFIRM_AT_MOST,
  });
  const asked = await confirm(parts, triage.confirm);
  // What could not be asked for is gone only if two passes missed it.
  const unaskedTwice = asked.unanswered.filter((key) => missedBefore.has(key));
  const unaskedOnce = asked.unanswered.filter((key) => !missedBefore.has(key));
  const waiting = [...triage.wait, ...unaskedOnce, ...emptiedOnce];
  const gone = [...triage.remove, ...asked.gone, ...unaskedTwice];
  const lost = gone.length + emptied.length;
  if (lost > 0) await memory.addRemoved(parts.today(), collection, lost);
  await writer.remove(pass, 'rows', gone);
  if (waiting.length > 0) {
    const reason = needsSecondPass ? completeness.why : 'they are too many to be asked for one by one';
    parts.say({ kind: 'second-pass', collection, rows: waiting.length, why: reason });
  }
  return {
    withheld: 0,
    wantsSecondPass: waiting.length > 0,
    remember: async () => {
      await memory.setWithheld(collection, new Map());
      await memory.setMissing(collection, new Map(waiting.map((key) => [key, pass.stats.passId])));
    },
  };
}

/** How many removals of a collection wait for a person: as listed, or, where the list was lost, as the log says. */
export async function countWithheld(
  memory: DeletionMemory,
  collection: CollectionName,
  progress: Progress | null,
): Promise<number> {
  const { size } = await memory.withheld(collection);
  return size > 0 ? size : (progress?.lastCompleteFull?.rowsWithheld ?? 0);
}

interface Held {
  readonly keys: readonly string[];
  readonly count: number;
  readonly why: string;
}

/**
 * What must wait for a person; null when everything may go out. What was withheld once stays so until it is approved
 * or back: a hub that recovers bit by bit must not delete the rest, nor must midnight or a lost index.
 */
async function holdBack(options: {
  parts: DeletionParts;
  unseen: UnseenKeys;
  losses: readonly string[];
  emptiedKeys: ReadonlySet<string>;
  listed: ReadonlyMap<string, number>;
  withheldBefore: number;
  knownRowsBefore: number;
}): Promise<Held | null> {
  const { parts, unseen, losses, emptiedKeys, listed, withheldBefore, knownRowsBefore } = options;
  if (unseen.count > unseen.keys.length) {
    return {
      keys: unseen.keys,
      count: unseen.count,
      why: `${unseen.count} rows were not found, more than can be listed`,
    };
  }
  if (withheldBefore > 0 && listed.size === 0) {
    // Which ones they were is no longer known: all that is gone may be among them.
    const keys = [...new Set([...unseen.keys, ...emptiedKeys])];
    const why = `${withheldBefore} deletions waited for a person when the index was lost`;
    return keys.length === 0 ? null : { keys, count: keys.length, why };
  }
  const unseenKeys = new Set(unseen.keys);
  const standing = [...listed.keys()].filter((key) => unseenKeys.has(key) || emptiedKeys.has(key));
  if (standing.length > 0) {
    const keys = [...new Set([...standing, ...losses])];
    return { keys, count: keys.length, why: `${standing.length} earlier deletions wait for a person` };
  }
  const why = await whyHoldBack(parts, losses.length, knownRowsBefore);
  return why === null ? null : { keys: losses, count: losses.length, why };
}

async function whyHoldBack(
  parts: DeletionParts,
  deletions: number,
  knownRows: number,
): Promise<string | null> {
  if (deletions === 0) return null;
  const today = await parts.memory.removedOn(parts.today());
  const deletedEarlierToday = today.get(parts.collection) ?? 0;
  const own = whyWithhold({ deletions, deletedEarlierToday, knownRows }, parts.limits);
  if (own !== null) return own;
  for (const other of parts.tenantCollections) {
    if (other === parts.collection) continue;
    const { size } = await parts.memory.withheld(other);
    // Held back for its own sake, and not only because a third one is: else two could hold each other for ever.
    const tripped = whyWithhold(
      {
        deletions: size,
        deletedEarlierToday: today.get(other) ?? 0,
        knownRows: parts.knownRows(other),
      },
      parts.limits,
    );
    if (tripped !== null) return `deletions of ${other} wait for a person`;
  }
  return null;
}

async function withhold(parts: DeletionParts, keys: readonly string[]): Promise<void> {
  const before = await parts.memory.withheld(parts.collection);
  const nowMs = parts.now();
  await parts.memory.setWithheld(
    parts.collection,
    new Map(keys.map((key) => [key, before.get(key) ?? nowMs])),
  );
}

async function confirm(
  parts: DeletionParts,
  keys: readonly string[],
): Promise<{ gone: readonly string[]; unanswered: readonly string[] }> {
  if (keys.length === 0) return { gone: [], unanswered: [] };
  try {
    const existing = await parts.findExisting(keys);
    return { gone: keys.filter((key) => !existing.has(key)), unanswered: [] };
  } catch (error) {
    if (!(error instanceof RollcallError) || !error.code.startsWith('HUB_')) throw error;
    parts.say({
      kind: 'second-pass',
      collection: parts.collection,
      rows: keys.length,
      why: describeError(error),
    });
    return { gone: [], unanswered: keys };
  }
}
