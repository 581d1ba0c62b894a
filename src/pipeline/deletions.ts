import type { Completeness } from '../core/completeness.ts';
import { triageCandidates } from '../core/deletion-guard.ts';
import type { KeyedReading } from '../core/page-decision.ts';
import { RollcallError, describeError } from '../errors.ts';
import type { UnseenKeys } from './collection-writer.ts';
import { hasMet, type ActivePass } from './active-pass.ts';
import { countWithheld, holdBack, release, withhold, type DeletionParts } from './withholding.ts';

/** More candidates than this are not asked for one by one; they must be missing from two passes (design). */
const CONFIRM_AT_MOST = 100;
const NONE_UNSEEN: UnseenKeys = { keys: [], count: 0 };

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
  if (pass.seen === null) return { withheld: 0, wantsSecondPass: false, remember: () => Promise.resolve() };
  const waited = await memory.missing(collection);
  const emptiedKeys = new Set(judged.emptied.flatMap(({ key }) => key ?? []));
  // What this pass met was not missed by two passes in a row.
  const missedBefore = new Map([...waited].filter(([key]) => !hasMet(pass, 'rows', key)));
  const stillWaiting = new Map(
    [...waited].filter(([key]) => !hasMet(pass, 'rows', key) || emptiedKeys.has(key)),
  );
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
  const unseen = writer.hasMetAll(pass) ? NONE_UNSEEN : await writer.unseen('rows', pass);
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
    await withhold(parts, held);
    parts.say({ kind: 'withheld', collection, rows: held.count, why: held.why });
    return {
      withheld: held.count,
      wantsSecondPass: false,
      remember: () => memory.setMissing(collection, stillWaiting),
    };
  }
  await writer.publish(pass, emptied);
  const triage = triageCandidates({
    candidates,
    missedBefore,
    needsSecondPass,
    confirmAtMost: CONFIRM_AT_MOST,
  });
  const { gone, unanswered } = await askAgain(parts, triage, missedBefore);
  const lost = gone.length + emptied.length;
  if (lost > 0) await memory.addRemoved(parts.today(), collection, lost);
  await writer.remove(pass, 'rows', gone);
  const waiting = [...triage.wait, ...unanswered, ...emptiedOnce];
  const isShort = completeness.kind === 'needs-second-pass' && completeness.isShort;
  if (isShort) parts.say({ kind: 'short', collection, why: completeness.why });
  if (waiting.length > 0) {
    const reason = needsSecondPass ? completeness.why : 'they are too many to be asked for one by one';
    parts.say({ kind: 'second-pass', collection, rows: waiting.length, why: reason });
  }
  return {
    withheld: 0,
    wantsSecondPass: waiting.length > 0 || isShort,
    remember: async () => {
      await release(parts);
      await memory.setMissing(collection, new Map(waiting.map((key) => [key, pass.stats.passId])));
    },
  };
}

/** What is gone for certain, and what could not be asked for and must be missed by another pass. */
async function askAgain(
  parts: DeletionParts,
  triage: { confirm: readonly string[]; remove: readonly string[] },
  missedBefore: ReadonlyMap<string, string>,
): Promise<{ gone: readonly string[]; unanswered: readonly string[] }> {
  const asked = await confirm(parts, triage.confirm);
  const unaskedTwice = asked.unanswered.filter((key) => missedBefore.has(key));
  return {
    gone: [...triage.remove, ...asked.gone, ...unaskedTwice],
    unanswered: asked.unanswered.filter((key) => !missedBefore.has(key)),
  };
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
