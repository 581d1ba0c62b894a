import type { Completeness } from '../core/completeness.ts';
import { isNotable, triageCandidates } from '../core/deletion-guard.ts';
import type { UnseenKeys } from './collection-writer.ts';
import { hasMet, type ActivePass } from './active-pass.ts';
import { findApproved, releaseApproved, type Release } from './approved-deletions.ts';
import { CONFIRM_AT_MOST, confirmGone } from './confirm-gone.ts';
import { forgetEmpty, settleEmpty } from './empty-collection.ts';
import type { DeletionResult, JudgedPass } from './judged-pass.ts';
import {
  countWithheld,
  holdBack,
  settleList,
  withhold,
  type DeletionParts,
  type Held,
} from './withholding.ts';

/** Before the pass that was told a value without content: that it was not there at all is another answer. */
export const EMPTY = 'empty ';
const NONE_UNSEEN: UnseenKeys = { keys: [], count: 0 };
const NONE_APPROVED: ReadonlySet<string> = new Set();
const NONE_ASKED: Asked = { gone: [], unanswered: [] };

/**
 * Settles what a full pass did not see: removes it, asks again, waits for a second pass, or withholds it for a
 * person. The only place where the absence of a row leads to a removal (invariant 3).
 */
export async function settleDeletions(
  parts: DeletionParts,
  pass: ActivePass,
  judged: JudgedPass,
): Promise<DeletionResult> {
  const { collection, writer, memory } = parts;
  const { completeness, approved = NONE_APPROVED } = judged;
  if (pass.seen === null) return nothingSettled(0, () => Promise.resolve());
  const isOver = (key: string): boolean => approved.has(key) || !writer.isWanted(key);
  const waited = withoutKeys(await memory.missing(collection), isOver);
  const emptiedKeys = new Set(judged.emptied.flatMap(({ key }) => key ?? []));
  // What this pass met was not missed by two passes in a row.
  const missedBefore = new Map(
    [...waited].filter(([key, by]) => !hasMet(pass, 'rows', key) && !by.startsWith(EMPTY)),
  );
  const stillWaiting = new Map(
    [...waited].filter(([key]) => !hasMet(pass, 'rows', key) || emptiedKeys.has(key)),
  );
  const withheldBefore = await countWithheld(memory, collection, writer.progress);
  if (completeness.kind === 'unproven') {
    parts.say({ kind: 'unproven', collection, why: completeness.why });
    if (completeness.isEmpty === true) return settleEmpty(parts, pass, { ...judged, withheldBefore });
    return nothingSettled(withheldBefore, async () => {
      await forgetEmpty(parts);
      await memory.setMissing(collection, stillWaiting);
    });
  }
  const listed = withoutKeys(await memory.withheld(collection), isOver);
  const release = await findApproved(parts, pass, judged);
  const unseen = writer.hasMetAll(pass) ? NONE_UNSEEN : await writer.unseen('rows', pass, approved);
  const candidates = unseen.keys;
  // One answer without content is no more proof than one without rows: the next pass must say the same.
  const late = judged.emptied.filter(({ key }) => key !== null && !approved.has(key));
  const isSaidTwice = (key: string): boolean => waited.get(key)?.startsWith(EMPTY) === true;
  const emptied = late.filter(({ key }) => key !== null && isSaidTwice(key));
  const emptiedOnce = late.flatMap(({ key }) => (key !== null && !isSaidTwice(key) ? [key] : []));
  const needsSecondPass = completeness.kind === 'needs-second-pass';
  const countable = needsSecondPass ? candidates.filter((key) => missedBefore.has(key)) : candidates;
  const losses = [...countable, ...emptied.flatMap(({ key }) => key ?? [])];
  const knownRows = judged.knownRowsBefore - release.gone.filter((key) => writer.isWanted(key)).length;
  const isMany = isNotable({ deletions: losses.length, knownRows }, parts.limits);
  const isHeld = (): Promise<Held | null> =>
    holdBack({
      parts,
      unseen,
      losses,
      emptiedKeys: new Set(late.flatMap(({ key }) => key ?? [])),
      listed,
      knownRowsBefore: knownRows,
    });
  const first = await isHeld();
  const asked =
    first === null
      ? await askAgain(parts, pass, { candidates, missedBefore, needsSecondPass: needsSecondPass || isMany })
      : NONE_ASKED;
  // While the hub was asked, another collection may have tripped the guard.
  const held = first ?? (losses.length > 0 ? await isHeld() : null);
  if (held !== null) return holdLosses(parts, pass, { held, release, approved, stillWaiting });
  const approvedGone = await releaseApproved(parts, pass, release, approved);
  await writer.publish(pass, emptied);
  const lost = asked.gone.length + emptied.length;
  if (lost > 0) await memory.addRemoved(parts.today(), collection, lost);
  await writer.remove(pass, 'rows', asked.gone);
  const isShort = completeness.kind === 'needs-second-pass' && completeness.isShort;
  if (isShort) parts.say({ kind: 'short', collection, why: completeness.why });
  const waiting = [...asked.unanswered, ...emptiedOnce];
  sayWaiting(parts, waiting.length, completeness);
  return {
    withheld: 0,
    wantsSecondPass: waiting.length > 0 || isShort,
    isMany,
    approvedGone,
    remember: async () => {
      await settleList(parts, null);
      await memory.setMissing(
        collection,
        doubted(pass.stats, { missed: asked.unanswered, emptied: emptiedOnce }),
      );
    },
  };
}

function sayWaiting({ say, collection }: DeletionParts, rows: number, completeness: Completeness): void {
  if (rows === 0) return;
  const isUnproven = completeness.kind === 'needs-second-pass';
  const why = isUnproven ? completeness.why : 'they are too many to be believed at once';
  say({ kind: 'second-pass', collection, rows, why });
}

/** What a pass has not met, or met without content, for the next one to compare with. */
function doubted(
  { passId }: ActivePass['stats'],
  by: { readonly missed: readonly string[]; readonly emptied: readonly string[] },
): ReadonlyMap<string, string> {
  const missed = by.missed.map((key) => [key, passId] as const);
  return new Map([...missed, ...by.emptied.map((key) => [key, `${EMPTY}${passId}`] as const)]);
}

/** What waits for a person; of it, only what a person has approved goes out. */
async function holdLosses(
  parts: DeletionParts,
  pass: ActivePass,
  losses: {
    readonly held: Held;
    readonly release: Release;
    readonly approved: ReadonlySet<string>;
    readonly stillWaiting: ReadonlyMap<string, string>;
  },
): Promise<DeletionResult> {
  const { held, release, approved, stillWaiting } = losses;
  const { collection, memory } = parts;
  await withhold(parts, held, release.keys);
  parts.say({ kind: 'withheld', collection, rows: held.count, why: held.why });
  const approvedGone = await releaseApproved(parts, pass, release, approved);
  return {
    withheld: held.count,
    wantsSecondPass: false,
    approvedGone,
    remember: async () => {
      await settleList(parts, held, release.keys);
      await memory.setMissing(collection, stillWaiting);
    },
  };
}

function nothingSettled(withheld: number, remember: () => Promise<void>): DeletionResult {
  return { withheld, wantsSecondPass: false, approvedGone: null, remember };
}

/** `isOver`: a person has approved the key, or the configuration no longer wants it. */
function withoutKeys<T>(
  keys: ReadonlyMap<string, T>,
  isOver: (key: string) => boolean,
): ReadonlyMap<string, T> {
  return new Map([...keys].filter(([key]) => !isOver(key)));
}

interface Asked {
  readonly gone: readonly string[];
  readonly unanswered: readonly string[];
}

/** What is gone for certain, and what must be missed by another pass: one too many to ask for, or not answered. */
async function askAgain(
  parts: DeletionParts,
  pass: ActivePass,
  losses: {
    readonly candidates: readonly string[];
    readonly missedBefore: ReadonlyMap<string, string>;
    readonly needsSecondPass: boolean;
  },
): Promise<Asked> {
  const { missedBefore } = losses;
  const triage = triageCandidates({ ...losses, confirmAtMost: CONFIRM_AT_MOST });
  const [witness] =
    triage.confirm.length === 0 ? [] : await parts.writer.someKeys(1, (key) => hasMet(pass, 'rows', key));
  const asked = await confirmGone(parts, triage.confirm, witness);
  const unaskedTwice = asked.unanswered.filter((key) => missedBefore.has(key));
  const unansweredOnce = asked.unanswered.filter((key) => !missedBefore.has(key));
  return {
    gone: [...triage.remove, ...asked.gone, ...unaskedTwice],
    unanswered: [...triage.wait, ...unansweredOnce],
  };
}
