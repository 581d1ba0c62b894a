import type { AbsenceStep, Published } from './absence-entry.ts';
import { mayBeOne, type Version, type VersionList, type VersionLists } from './version-lists.ts';

export interface EventsInput {
  /**
   * `page`, in the middle of a sync: the versions before the first awaited id are published, and everything after it
   * waits. `final`, at the end of a sync: the hub has been asked for the awaited ids, which are ignored now.
   */
  readonly mode: 'page' | 'final';
  /** Ids of the rows of this derivation. */
  readonly changed: ReadonlySet<string>;
  /** Versions to publish whose records could not be loaded: their absences stay open, and publish nothing. */
  readonly lacking: ReadonlySet<string>;
}

/** The facts about the list of an absence that decide its next events. */
interface Plan {
  readonly list: VersionList;
  readonly before: Published | null;
  /** The version published last. */
  readonly last: Version | null;
  /** The version that decides whether the absence is current or over. */
  readonly tail: Version | null;
  /** Whether no version is current: the absence is DELETED already, or an event says so now. */
  readonly isOver: boolean;
  /** Whether the absence is over, and a null for its key was already published to `absence-changes`: then nothing is published. */
  readonly staysForgotten: boolean;
  /** Whether something is still unknown: then the absence stays open, and its deletion waits. */
  isBlocked: boolean;
}

/**
 * Finds the events of changed lists, what `absences` shows, and what has to wait.
 *
 * An absence is DELETED when its last version at the hub is deleted (`HUB`), when its last version has left the hub
 * without a successor (`VANISHED`), or when another absence continues it (`MERGED`). As long as a page alone cannot
 * show that nothing follows, `VANISHED` and `MERGED` wait for the end of the sync.
 */
export class AbsenceEvents {
  readonly steps: AbsenceStep[] = [];
  readonly shown = new Map<string, string | null>();
  readonly ended: string[] = [];
  /**
   * The versions of {@link stillWaiting} whose records came with this derivation. A later derivation needs these
   * records.
   */
  readonly waiting: string[] = [];
  /** Versions of open absences whose records a later derivation may publish. */
  readonly stillWaiting = new Set<string>();
  readonly #input: EventsInput;
  readonly #lists: VersionLists;

  constructor(input: EventsInput, lists: VersionLists) {
    this.#input = input;
    this.#lists = lists;
  }

  /** Publishes all new versions before any deletion, because the event MERGED names the id of another absence. */
  settle(): void {
    const plans = [...this.#lists.touched].map((list) => this.#publishNew(list));
    for (const plan of plans) this.#finish(plan);
  }

  #publishNew(list: VersionList): Plan {
    const { mode, lacking } = this.#input;
    const { members, published: before } = list;
    const position = members.findIndex(({ id }) => id === before?.versionId);
    const last = members[position] ?? null;
    const later = members.slice(position + 1);
    const awaited = mode === 'page' ? later.findIndex(({ state }) => state === 'awaited') : -1;
    const isAwaiting = awaited >= 0;
    const known = isAwaiting ? later.slice(0, awaited) : later;
    const fresh = known.filter(({ state }) => state === 'present');
    const isLacking = members.some(({ id }) => lacking.has(id));
    // The version published last has left the hub, and no new one follows it.
    const isLost = last !== null && !isEnd(last) && fresh.length === 0;
    // The last version that is still at the hub, or that was deleted or continued before it left the hub. A version that
    // was deleted or continued keeps its place, so that no older version becomes current again.
    const tail = members.findLast(isEnd) ?? null;
    const isOver = tail === null || tail.isDeleted || tail.isContinued || (isLost && tail.namesSuccessor);
    const staysForgotten = isOver && before?.step === 0;
    // The absence is DELETED, and its last version is at the hub: even the end of the sync would publish nothing.
    const staysDeleted = isOver && before?.isDeleted === true && tail?.state === 'present';
    const isBlocked = isLacking || isAwaiting || (isLost && !staysDeleted && mode === 'page');
    if (!isLacking && !staysForgotten) for (const { id } of fresh) this.#emit(list, id, 'HUB');
    return { list, before, last, tail, isOver, staysForgotten, isBlocked };
  }

  #finish(plan: Plan): void {
    const { list } = plan;
    if (!plan.isBlocked && !plan.staysForgotten) this.#end(plan);
    if (!plan.isBlocked && this.#dropIfEmpty(list)) return;
    list.isOpen = plan.isBlocked;
    if (plan.isBlocked) this.#noteWaiting(list);
    this.#show(plan);
  }

  #end(plan: Plan): void {
    const { list, tail, last } = plan;
    const { published } = list;
    if (published === null) return;
    // The version published last has left the hub, and nothing has been published since.
    const isVanished = last !== null && !isEnd(last) && published.versionId === last.id;
    if (!plan.isOver && tail !== null) {
      // A version is current: an event says so, unless the last event does.
      if (published.isDeleted) this.#emit(list, tail.id, 'HUB');
      else if (published.versionId !== tail.id) this.#emit(list, tail.id, 'VANISHED');
      return;
    }
    if (published.isDeleted) return;
    if (isVanished) this.#emit(list, published.versionId, 'VANISHED', { isDeletion: true });
    else if (tail?.isContinued === true && list.continuedBy !== null)
      this.#merge(plan, lastAtHub(tail, published), list.continuedBy);
    else this.#emit(list, lastAtHub(tail, published), 'HUB', { isDeletion: true });
  }

  #merge(plan: Plan, versionId: string, continuedBy: string): void {
    const other = this.#lists.versions.get(continuedBy)?.list;
    const isOurs = other !== undefined && other !== plan.list && mayBeOne(other.student, plan.list.student);
    const isPublished = isOurs && other.published !== null;
    if (!isPublished && (isOurs || other === undefined) && this.#input.mode === 'page') {
      plan.isBlocked = true;
      return;
    }
    const how = { isDeletion: true, mergedInto: isPublished ? other.key : null };
    this.#emit(plan.list, versionId, isPublished ? 'MERGED' : 'HUB', how);
    plan.list.continuedBy = null;
  }

  #show({ list, before }: Plan): void {
    const { published } = list;
    if (published === null || (published === before && !this.#input.changed.has(published.versionId))) return;
    const current = this.#lists.versions.get(published.versionId);
    const isDeleted = published.isDeleted || current?.isDeleted === true;
    if (isDeleted) this.shown.set(list.key, null);
    // A version that has left the hub is shown until the end of the sync.
    else if (current?.state === 'present') this.shown.set(list.key, current.id);
  }

  #noteWaiting({ published, members }: VersionList): void {
    // The version published last waits, too, because its deletion may follow.
    const last = members.findIndex(({ id }) => id === published?.versionId);
    for (const { id, state } of members.slice(Math.max(0, last))) {
      if (state !== 'present' || (id === published?.versionId && published.isDeleted)) continue;
      this.stillWaiting.add(id);
      if (this.#input.changed.has(id)) this.waiting.push(id);
    }
  }

  #emit(
    list: VersionList,
    versionId: string,
    cause: AbsenceStep['cause'],
    how: { isDeletion?: boolean; mergedInto?: string | null } = {},
  ): void {
    const { published } = list;
    const { isDeletion = false, mergedInto = null } = how;
    if (published === null) list.key = list.members.find(({ state }) => state === 'present')?.id ?? list.key;
    const isPrevious = published !== null && published.step > 0 && published.versionId !== versionId;
    const step = (published?.step ?? 0) + 1;
    this.steps.push({
      absenceId: list.key,
      step,
      operation: isDeletion ? 'DELETED' : operationAfter(published),
      versionId,
      previousVersionId: isPrevious ? published.versionId : null,
      cause,
      mergedInto,
    });
    list.published = { step, versionId, isDeleted: isDeletion };
  }

  #dropIfEmpty(list: VersionList): boolean {
    if (list.members.some(({ state }) => state === 'present')) return false;
    this.#lists.all.delete(list);
    if (list.published !== null && list.published.step > 0) {
      this.ended.push(list.key);
      this.shown.set(list.key, null);
    }
    return true;
  }
}

function operationAfter(published: Published | null): AbsenceStep['operation'] {
  if (published === null || published.step === 0) return 'CREATED';
  return published.isDeleted ? 'RESTORED' : 'REPLACED';
}

/**
 * The version that a deletion shows: the tail, or, if the tail has left the hub and no record of it exists any more, the
 * version published last.
 */
function lastAtHub(tail: Version | null, published: Published): string {
  return tail?.state === 'present' ? tail.id : published.versionId;
}

function isEnd({ state, isDeleted, isContinued }: Version): boolean {
  return state === 'present' || (state === 'gone' && (isDeleted || isContinued));
}
