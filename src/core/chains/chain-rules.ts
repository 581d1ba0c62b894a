import { graphOf, studentOfChain, type ChainGraph, type ChainNode } from './chain-node.ts';
import { shapeOf, type ChainShape } from './chain-shape.ts';
import { stepsOf, type ChainStep } from './chain-steps.ts';
import { nameOf } from './absence-name.ts';
import { claimsOf, isAlive, type NamedAbsence } from './claims.ts';
import type { ChainInput } from './cluster.ts';
import { contradictionsIn, type Contradiction } from './contradictions.ts';
import type { AbsenceEntry, VersionEntry } from './chain-state.ts';
import { awaitedBy, isToRevisit, whyDeferred, type Deferred } from './pending-chain.ts';
import { changedVersions, isForgotten } from './version-entries.ts';

/**
 * # How versions become absences and their changes
 *
 * The hub's records (spec 2.2, 3) are versions, linked by `replaces` and `replacedBy`. Versions that hang together are
 * one chain, and one absence. To consumers an absence is always in one of three states:
 *
 * ```
 *              CREATED                 DELETED (HUB, VANISHED, MERGED)
 *   (none)   ───────────▶ ┌─────────┐ ─────────────────────────────────▶ ┌─────────┐
 *                         │ current │                                    │ deleted │ ──▶ forgotten
 *               REPLACED  └─────────┘ ◀───────────────────────────────── └─────────┘     (key nulled)
 *               ◀────────────┘                     RESTORED
 * ```
 *
 * 1. *Links.* Either of `replaces` and `replacedBy` links two versions. A link to the record itself, or to a record of
 *    another student, is not followed: a guardian never hears of another family's child.
 * 2. *Closed.* A chain is published once each reference from it leads to a version known, or to an id that the hub was
 *    asked for and does not have. Until then it is open: nothing of it is published. In `final` mode it is published as far as
 *    it is known, and reported.
 * 3. *Tail.* The version that no other follows. Ids that the hub does not have are passed over, so a chain with a hole
 *    is one chain, and one whose end cannot be had ends with the last version that the hub has. Only a version that
 *    was deleted when it left the hub remains the end: throwing a tombstone away revives nothing.
 * 4. *Several tails* (a fork): the one not deleted; then the one that the hub's own `replacedBy` leads to; then the
 *    greatest id. A record that the hub holds for current is rather shown than lost.
 * 5. *No tail* (a loop): of the versions in it the one chosen as in 4.
 * 6. *Path.* From the tail backwards by `replaces`, else by who names it in `replacedBy` (the greatest id of several).
 *    Versions beside the path belong to the absence but are never published.
 * 7. *Steps.* One event for each version of the path after the one published last, in order: `CREATED` for the first ever,
 *    `RESTORED` after a deletion, else `REPLACED`; then `DELETED` if the tail is deleted. Created and deleted between
 *    two polls is two events. A deleted version that was replaced after all is no deletion.
 * 8. *Jumps.* If the version published last is not on the path (a fork was decided otherwise, the tail left the hub), the
 *    path's versions that were never published are published, and the tail.
 * 9. *Vanished.* An absence is deleted by it only when the hub has no version of it left (`DELETED`, `VANISHED`). If
 *    only the tail vanished, the version before is published as `REPLACED`, `VANISHED`: a removal at the hub that leaves an
 *    older version behind is more often a fault than a withdrawal, and the cause lets a consumer decide otherwise. Such
 *    a step waits for `final` mode: in the middle of a sync the rest of the chain may be about to vanish too.
 * 10. *Late ancestors* change nothing: an absence's id is frozen once published.
 * 11. *Forgotten* absences (their events expired after a deletion) are not published again while they stay deleted. Alive
 *    again, they begin with `CREATED`, step 1.
 * 12. *Absence id.* The oldest id of the path, also of a version that the hub no longer has; if that is another
 *    absence's already, the next one.
 * 13. *Merged.* Two published absences in one chain: the one published first goes on (of the same transaction: the
 *    lesser id), and is published first; the other is published as `DELETED`, `MERGED`, unless it was deleted before.
 * 14. *Split.* If one absence falls into two chains (links that changed against spec 3), it goes on where the version is
 *    that gave it its id, else where the version published last is, unless that was published under another id since; the
 *    other chain is an absence of its own, published by its tail. A version that nobody had seen when its id was given takes
 *    nothing over: the absence stays with the record that was published under it.
 * 15. *A lost index* is made again from the records of the versions at the hub and the last event of each absence:
 *    every version resolved, and in the absence to whose last event (but for `MERGED`) its chain leads, whatever an older
 *    event says of it. Ids and steps of sound chains go on from there, also if their older versions have left the hub.
 * 16. *Students.* Records of two students never stand under one absence id (invariant 11). An absence is the student's
 *    whose record was published under it last, which it remembers, and no chain of another student's takes it over. Where
 *    all ids of a chain are taken (a record of B turns up under the id that A's absence got from an unseen ancestor), it
 *    gets the first free of `<sourcedId>|absence-2`, `|absence-3`, …, frozen like any other. An absence whose versions
 *    are all another student's now is published as `DELETED`. Only where the hub gives the record published last itself to
 *    another student, the absence goes with the record.
 *
 * What does not depend on the order in which rows came, once no chain is open: which versions are current, one for each
 * chain that is not deleted. What may: ids and numbers of steps, where something was published before a fact came that
 * would have changed them (10, 13, 14, 4).
 */

export type ResolveMode = 'page' | 'final';

export interface ResolveInput extends ChainInput {
  readonly mode: ResolveMode;
  /** Number of the transaction that will carry the outcome, not less than any before: orders first publications. */
  readonly sequence: number;
  /** Tails of chains that are not published unless they were before: they ended too long ago. */
  readonly forgotten?: ReadonlySet<string> | undefined;
  /** Versions whose chains wait in any mode, because what is said of them cannot be had, or is in doubt. */
  readonly defer?: ReadonlySet<string> | undefined;
  /** Versions of which it is not known whose they are are still to be read, under a mapping that shows it. */
  readonly awaitsStudents?: boolean | undefined;
}

export interface PendingChain {
  /** Null if it was never published. */
  readonly absenceId: string | null;
  /** To be given as `revisit`, at the latest at the end of the sync. They are unresolved in the index, too. */
  readonly versionIds: readonly string[];
  /** Ids that neither the index nor the hub knows. None: the chain is vanishing, and waits for the sync's end. */
  readonly waitingFor: readonly string[];
}

export interface Resolution {
  /** For the index; null removes an entry. Only what changes. */
  readonly versions: ReadonlyMap<string, VersionEntry | null>;
  /** For the index. Only what changes. */
  readonly absences: ReadonlyMap<string, AbsenceEntry>;
  /** In the order in which they are to be published. */
  readonly steps: readonly ChainStep[];
  /**
   * For the topic `absences`: the current version of each absence where that, or the version's record, may have
   * changed; null once the absence is no longer shown.
   */
  readonly currents: readonly { readonly absenceId: string; readonly versionId: string | null }[];
  /** In `final` mode: what was published nevertheless. */
  readonly open: readonly PendingChain[];
  /** All contradictions of every chain touched: they replace what was reported of these chains before. */
  readonly contradictions: readonly Contradiction[];
  /** Absences of which the hub has no version any more. */
  readonly vanished: readonly string[];
}

interface Draft {
  readonly absences: Map<string, AbsenceEntry>;
  readonly steps: ChainStep[];
  readonly currents: Resolution['currents'][number][];
  readonly open: PendingChain[];
  readonly contradictions: Contradiction[];
  readonly vanished: string[];
  /** By component; null while unpublished. */
  readonly names: (string | null)[];
  /** By component that has to wait, and that was published and forgotten: an id that keeps that in mind. */
  readonly forgottenNames: Map<number, string>;
  /** Components that must be resolved again, beginning from the versions that came or from any. */
  readonly pending: Map<number, Deferred>;
  readonly taken: Set<string>;
}

/**
 * What new or changed versions lead to. Pure; linear in the rows and the chains that they belong to, unchanged rows need
 * not come. The same rows again, on the knowledge that came of them, give no step.
 *
 * @throws Error if something was not looked up that `missing` asks for
 */
export function resolve(input: ResolveInput): Resolution {
  const graph = graphOf(input);
  const claims = claimsOf(graph, input.chainState);
  const draft: Draft = {
    absences: new Map(),
    steps: [],
    currents: [],
    open: [],
    contradictions: [],
    vanished: [],
    names: [],
    forgottenNames: new Map(),
    pending: new Map(),
    taken: new Set(),
  };
  const claimed = new Set([...claims.values()].flatMap((owned) => owned.map(({ id }) => id)));
  for (const id of claimed) draft.taken.add(id);
  const refused = Map.groupBy(graph.refused, ({ from }) => from.component);
  for (const [index, nodes] of graph.components.entries()) {
    const shape = shapeOf(nodes);
    const owned = claims.get(index) ?? [];
    const waitingFor = awaitedBy(nodes);
    const isDeferred = nodes.some((node) => input.defer?.has(node.id) === true || awaitsStudent(node, input));
    const mustWait = input.mode === 'page' ? whyDeferred({ nodes, shape, owned, graph, waitingFor }) : null;
    const deferred = mustWait === 'all' ? 'all' : deferredBy(isDeferred || mustWait !== null, nodes);
    draft.names.push(deferred === null ? publishChain({ input, graph, nodes, shape, owned, draft }) : null);
    const absenceId = draft.names[index] ?? owned.find(isAlive)?.id ?? null;
    if (deferred !== null) draft.pending.set(index, deferred);
    if (deferred !== null && owned.length === 0 && shape.tail !== null && nodes.some(isForgotten)) {
      const { chainState } = input;
      draft.forgottenNames.set(index, nameOf({ chainState, graph, nodes, shape, taken: draft.taken }));
    }
    if (deferred !== null || waitingFor.length > 0) {
      const versionIds = nodes.filter((node) => isToRevisit(node, deferred)).map(({ id }) => id);
      draft.open.push({ absenceId, versionIds, waitingFor });
    }
    const found = contradictionsIn({ graph, nodes, shape, refused: refused.get(index) ?? [] });
    for (const contradiction of found) draft.contradictions.push({ ...contradiction, absenceId });
  }
  deleteUnclaimed({ input, graph, draft, claimed });
  const { absences, steps, currents, open, contradictions, vanished } = draft;
  const versions = changedVersions(graph, draft);
  return { versions, absences, steps, currents, open, contradictions, vanished };
}

function awaitsStudent({ state, student, isTouched }: ChainNode, input: ResolveInput): boolean {
  return input.awaitsStudents === true && state === 'present' && student === 0 && !isTouched;
}

/** What another chain's change has split off has no version that came: then all are to be looked at again. */
function deferredBy(mustWait: boolean, nodes: readonly ChainNode[]): Deferred | null {
  if (!mustWait) return null;
  return nodes.some((node) => isToRevisit(node, 'touched')) ? 'touched' : 'all';
}

/** Publishes one chain. Returns its absence's id, null if there is nothing to publish. */
function publishChain(parts: {
  input: ResolveInput;
  graph: ChainGraph;
  nodes: readonly ChainNode[];
  shape: ChainShape;
  owned: readonly NamedAbsence[];
  draft: Draft;
}): string | null {
  const { shape, draft } = parts;
  const [stays, ...others] = parts.owned;
  if (stays === undefined && (shape.tail === null || parts.input.forgotten?.has(shape.tail.id) === true)) {
    return null;
  }
  const { input, graph, nodes } = parts;
  const id = stays?.id ?? nameOf({ chainState: input.chainState, graph, nodes, shape, taken: draft.taken });
  const before = stays?.entry ?? null;
  const isAtHub = (versionId: string): boolean => parts.graph.known.get(versionId)?.state === 'present';
  const steps = stepsOf({ absenceId: id, before, shape, nodes: parts.nodes, isAtHub });
  const last = steps.at(-1);
  // Forgotten, and still deleted (rule 11).
  if (before === null && last === undefined) return null;
  draft.steps.push(...steps);
  draft.taken.add(id);
  const student = studentOfChain(nodes) || (before?.student ?? 0);
  if (last !== undefined) {
    draft.absences.set(id, {
      step: last.step,
      publishedVersionId: last.versionId,
      isPublishedAsDeleted: last.operation === 'DELETED',
      mergedInto: null,
      since: before?.since ?? parts.input.sequence,
      student,
    });
  } else if (before !== null && before.student !== student && shape.tail?.isDeleted === false) {
    draft.absences.set(id, { ...before, student });
  }
  showCurrent({ id, before, shape, hasSteps: last !== undefined, draft });
  for (const other of others) merge({ other, into: id, draft });
  if (shape.tail !== null) return id;
  draft.vanished.push(id);
  // Nothing new is published under it, so nothing needs to belong to it.
  return last === undefined ? null : id;
}

function showCurrent(parts: {
  id: string;
  before: AbsenceEntry | null;
  shape: ChainShape;
  hasSteps: boolean;
  draft: Draft;
}): void {
  const { id: absenceId, before, draft } = parts;
  const { tail } = parts.shape;
  if (tail !== null && !tail.isDeleted) {
    // One that came while its chain was open is not touched any more.
    const mayDiffer = parts.hasSteps || tail.isTouched || tail.before?.isResolved === false;
    if (mayDiffer) draft.currents.push({ absenceId, versionId: tail.id });
  } else if (before !== null && !before.isPublishedAsDeleted) {
    draft.currents.push({ absenceId, versionId: null });
  }
}

/** Of an absence whose versions are all another student's now, none remains (rule 16). */
function deleteUnclaimed(parts: {
  input: ResolveInput;
  graph: ChainGraph;
  draft: Draft;
  claimed: ReadonlySet<string>;
}): void {
  const { graph, draft } = parts;
  for (const absenceId of graph.cluster.absences) {
    const entry = parts.input.chainState.absences.get(absenceId) ?? null;
    if (entry === null || entry.isPublishedAsDeleted || parts.claimed.has(absenceId)) continue;
    const versionId = entry.publishedVersionId;
    const component = graph.known.get(versionId)?.component;
    if (component === undefined || draft.pending.has(component)) continue;
    const step = entry.step + 1;
    draft.absences.set(absenceId, { ...entry, step, isPublishedAsDeleted: true });
    const ended = { absenceId, step, versionId, previousVersionId: null, mergedInto: null };
    draft.steps.push({ ...ended, operation: 'DELETED', cause: 'HUB' });
    draft.currents.push({ absenceId, versionId: null });
  }
}

function merge(parts: { other: NamedAbsence; into: string; draft: Draft }): void {
  const { draft, into } = parts;
  const { id: absenceId, entry } = parts.other;
  if (entry.mergedInto !== null) return;
  const isNews = !entry.isPublishedAsDeleted;
  const step = isNews ? entry.step + 1 : entry.step;
  draft.absences.set(absenceId, { ...entry, step, isPublishedAsDeleted: true, mergedInto: into });
  if (!isNews) return;
  draft.steps.push({
    absenceId,
    step,
    operation: 'DELETED',
    versionId: entry.publishedVersionId,
    previousVersionId: null,
    cause: 'MERGED',
    mergedInto: into,
  });
  draft.currents.push({ absenceId, versionId: null });
}
