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
 * The hub's absence records are versions, linked by `replaces` and `replacedBy` (spec 2.2, 3). The versions that these
 * links connect are one chain, and one absence. A consumer sees an absence in one of three states:
 *
 * ```
 *              CREATED                 DELETED (HUB, VANISHED, MERGED)
 *   (none)   ───────────▶ ┌─────────┐ ─────────────────────────────────▶ ┌─────────┐
 *                         │ current │                                    │ deleted │ ──▶ forgotten
 *               REPLACED  └─────────┘ ◀───────────────────────────────── └─────────┘     (key nulled)
 *               ◀────────────┘                     RESTORED
 * ```
 *
 * 1. *Links.* Either of `replaces` and `replacedBy` links two versions. Rollcall does not follow a link to the record
 *    itself, to a placeholder id, or to a record of another student: a guardian never sees another family's child.
 * 2. *Pending.* A chain is pending until each reference from it leads to a known version, or to an id that the hub was
 *    asked for and does not have. Nothing of a pending chain is published. In `final` mode it is published as far as it
 *    is known, and reported.
 * 3. *Tail.* The version that no other follows. Ids that the hub does not have are skipped: a chain with a hole is one
 *    chain, and if the hub does not have its newest version, the chain ends with the last version that the hub has. One
 *    exception: a version that was deleted when it left the hub stays the tail, because a hub that drops a tombstone
 *    does not revive the absence.
 * 4. *Several tails* (a fork). A tail that is not deleted comes first; then one that no `replacedBy` on its path
 *    contradicts; then the one with the greatest id. A record that the hub treats as current is shown rather than lost.
 * 5. *No tail* (a loop). Of the versions in the loop, the one that rule 4 prefers.
 * 6. *Path.* From the tail backwards: to the version that `replaces` names, else to the version that names this one in
 *    `replacedBy` (of several, the greatest id). Versions beside the path belong to the absence but are never published.
 * 7. *Steps.* One event for each version on the path after the version published last, in order: `CREATED` for the first
 *    event of an absence, `RESTORED` after a deletion, else `REPLACED`. Then `DELETED` if the tail is deleted. A version
 *    that is created and deleted between two polls leads to two events. A deleted version that another version replaced
 *    is no deletion.
 * 8. *Jumps.* If the version published last is not on the path (a fork was decided differently, or the tail left the
 *    hub), the versions on the path that were never published are published, and the tail.
 * 9. *Vanished.* Vanished versions delete an absence only when the hub has no version of it left: `DELETED`, `VANISHED`.
 *    If only the tail vanished, the version before it is published as `REPLACED`, `VANISHED`. A hub that removes a
 *    version and keeps an older one more often has a fault than a withdrawn absence, and the cause lets a consumer
 *    decide otherwise. Such a step waits for `final` mode, because more of the chain may vanish before the sync ends.
 * 10. *Late ancestors* change nothing: the id of a published absence never changes.
 * 11. *Forgotten* absences (their events expired after a deletion) are not published again while they stay deleted. When
 *    such an absence is live again, it starts over with `CREATED`, step 1.
 * 12. *Absence id.* The oldest id on the path, even if the hub does not have that version. If another absence has that
 *    id, the next one on the path.
 * 13. *Merged.* If one chain holds two published absences, the one published first continues, and its steps come first.
 *    (If the same transaction was the first to publish both, the one with the lesser id continues.) The other absence is
 *    published as `DELETED`, `MERGED`, unless it was deleted before.
 * 14. *Split.* If one absence falls into two chains, because links changed against spec 3, it continues in the chain of
 *    the version that gave it its id; else in the chain of the version published last, unless that version was published
 *    under another id since. The other chain becomes an absence of its own. Of its versions that were published before,
 *    it publishes only the tail. An absence can have the id of a version that Rollcall has never seen (12); if that
 *    version appears later in another chain, the absence stays with the version that was published under it.
 * 15. *Import.* If index and changelog are both lost or incomplete, the chain state is rebuilt from the published versions
 *    and the last event of each absence. Every version counts as resolved. A version belongs to the absence whose last
 *    event (other than `MERGED`) names a version of the same chain, whatever older events say. Chains without
 *    contradictions continue with the same ids and steps, even if their older versions have left the hub.
 * 16. *Students.* Records of two students never share an absence id (invariant 11). An absence belongs to the student of
 *    the record published last under its id. Its entry remembers that student, and no chain of another student takes the
 *    absence over. If all ids of a chain are taken (a record of B appears under the id that A's absence took from a
 *    version not seen), the chain gets the first free of `<sourcedId>|absence-2`, `|absence-3`, …, which never changes
 *    either. An absence whose versions all belong to another student now is published as `DELETED`. One exception: if
 *    the hub assigns the version published last itself to another student, the absence moves with that version.
 *
 * Once no chain is pending, the set of current versions (one for each chain whose tail is not deleted) does not depend
 * on the order in which rows arrived. Ids and step numbers may depend on it, where an event was published before a fact
 * arrived that would have changed it (4, 10, 13, 14).
 */

export type ResolveMode = 'page' | 'final';

export interface ResolveInput extends ChainInput {
  readonly mode: ResolveMode;
  /** Number of the transaction that commits the result; never decreases. It orders first publications (rule 13). */
  readonly sequence: number;
  /** Tails of chains that ended too long ago: these chains are published only if they were published before. */
  readonly forgotten?: ReadonlySet<string> | undefined;
  /** Versions whose chains stay pending in any mode: the hub's answer about them is missing or in doubt. */
  readonly defer?: ReadonlySet<string> | undefined;
  /**
   * Whether a full sync under a new mapping is still running. Until it reads an unattributed version again, the
   * version's chain waits: the new mapping may show its student.
   */
  readonly awaitsStudents?: boolean | undefined;
}

export interface PendingChain {
  /** Null if the chain was never published. */
  readonly absenceId: string | null;
  /**
   * The caller passes them as `revisit`, at the latest at the end of the sync. The index marks them as unresolved too.
   */
  readonly versionIds: readonly string[];
  /** Ids that neither the index nor the hub knows. Empty if the chain only waits because its versions are vanishing. */
  readonly waitingFor: readonly string[];
}

export interface Resolution {
  /** Changed entries for the index; null removes an entry. */
  readonly versions: ReadonlyMap<string, VersionEntry | null>;
  /** Changed entries for the index. */
  readonly absences: ReadonlyMap<string, AbsenceEntry>;
  /** In the order of publication. */
  readonly steps: readonly ChainStep[];
  /**
   * For the topic `absences`: the current version of each absence, where the version or its record may have changed.
   * Null if the absence is no longer shown.
   */
  readonly currents: readonly { readonly absenceId: string; readonly versionId: string | null }[];
  /** Chains with unresolved references. In `page` mode they wait; in `final` mode they are published nevertheless. */
  readonly open: readonly PendingChain[];
  /** All contradictions of the resolved chains. They replace what was reported of these chains before. */
  readonly contradictions: readonly Contradiction[];
  /** Absences of which the hub has no version left. */
  readonly vanished: readonly string[];
}

interface Draft {
  readonly absences: Map<string, AbsenceEntry>;
  readonly steps: ChainStep[];
  readonly currents: Resolution['currents'][number][];
  readonly open: PendingChain[];
  readonly contradictions: Contradiction[];
  readonly vanished: string[];
  /** Absence id by component; null while it is unpublished. */
  readonly names: (string | null)[];
  /**
   * Absence id by component, for deferred components that were published and then forgotten. The versions keep this id,
   * so that they stay distinguishable from versions that were never published.
   */
  readonly forgottenNames: Map<number, string>;
  /** Components to resolve again, and from which versions. */
  readonly pending: Map<number, Deferred>;
  readonly taken: Set<string>;
}

/**
 * Resolves the chains of new or changed versions. Pure, and linear in the rows and the chains that they belong to;
 * unchanged rows are not needed. The same rows again, on the chain state that resulted from them, give no step.
 *
 * @throws Error if the chain state lacks an entry that `missing` asks for
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

/** A component that another chain's change split off has no touched version; then all its versions are revisited. */
function deferredBy(mustWait: boolean, nodes: readonly ChainNode[]): Deferred | null {
  if (!mustWait) return null;
  return nodes.some((node) => isToRevisit(node, 'touched')) ? 'touched' : 'all';
}

/** Publishes one chain. Returns the id of its absence, or null if there is nothing to publish. */
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
  // The absence was forgotten and is still deleted (rule 11).
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
  // No version is published under the id, so no version needs to belong to it.
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
    // A version that arrived while its chain was pending is not touched in this resolution, but is not shown yet.
    const mayDiffer = parts.hasSteps || tail.isTouched || tail.before?.isResolved === false;
    if (mayDiffer) draft.currents.push({ absenceId, versionId: tail.id });
  } else if (before !== null && !before.isPublishedAsDeleted) {
    draft.currents.push({ absenceId, versionId: null });
  }
}

/** Publishes an absence as deleted whose versions now all belong to another student (rule 16). */
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
