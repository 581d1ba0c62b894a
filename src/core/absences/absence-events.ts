import type { AbsenceStep, Published } from './absence-entry.ts';
import { mayBeOne, membersOf, type Version, type VersionList, type VersionLists } from './version-lists.ts';

export interface EventsInput {
  /**
   * `page`: an absence is published up to its first awaited id, and no deletion beyond this id. `final`: the end of a
   * sync. The hub has been asked for the awaited ids, and they are ignored now.
   */
  readonly mode: 'page' | 'final';
  /** Ids of the rows of this derivation. */
  readonly changed: ReadonlySet<string>;
  /** Versions whose records are not at hand: their absences stay open. */
  readonly lacking: ReadonlySet<string>;
}

/** What an absence's list says before its events. */
interface Plan {
  readonly list: VersionList;
  readonly before: Published | null;
  /** The version published last. */
  readonly last: Version | null;
  readonly tail: Version | null;
  readonly isOver: boolean;
  isBlocked: boolean;
}

/** Finds the events of changed lists, what `absences` shows, and what has to wait. */
export class AbsenceEvents {
  readonly steps: AbsenceStep[] = [];
  readonly shown = new Map<string, string | null>();
  readonly ended: string[] = [];
  readonly waiting: string[] = [];
  /** Versions whose records a later derivation will publish, including those of earlier derivations. */
  readonly stillWaiting = new Set<string>();
  readonly #input: EventsInput;
  readonly #lists: VersionLists;

  constructor(input: EventsInput, lists: VersionLists) {
    this.#input = input;
    this.#lists = lists;
  }

  /** Publishes all new versions before any deletion: an absence that another absence continues waits for the id of the other one. */
  settle(): void {
    const plans = [...this.#lists.touched].map((list) => this.#publishNew(list));
    for (const plan of plans) this.#finish(plan);
  }

  #publishNew(list: VersionList): Plan {
    const { mode, lacking } = this.#input;
    const before = list.published;
    const last = before === null ? null : (this.#lists.versions.get(before.versionId) ?? null);
    const fresh: Version[] = [];
    let isLacking = false;
    let isAwaiting = false;
    for (const version of membersOf(list)) isLacking ||= lacking.has(version.id);
    for (let version = last === null ? list.first : last.after; version !== null; version = version.after) {
      if (version.state === 'awaited' && mode === 'page') isAwaiting = true;
      if (isAwaiting) break;
      if (version.state === 'present') fresh.push(version);
    }
    const tail = tailOf(list);
    const isLost = last !== null && !isEnd(last) && fresh.length === 0;
    const isLeftBehind = isLost && tail?.namesSuccessor === true;
    const isOver = tail === null || tail.isDeleted || tail.isContinued || isLeftBehind;
    const isForgottenAndOver = before?.step === 0 && isOver;
    // The absence was deleted, and stays deleted, so the end of the sync would publish nothing.
    const isOverAlready = before?.isDeleted === true && isOver && tail?.state === 'present';
    // A version that left the hub waits for the end of the sync.
    const isBlocked = isLacking || isAwaiting || (isLost && !isOverAlready && mode === 'page');
    if (!isLacking && !isForgottenAndOver) for (const { id } of fresh) this.#emit(list, id, 'HUB');
    return { list, before, last, tail, isOver, isBlocked };
  }

  #finish(plan: Plan): void {
    const { list, before } = plan;
    if (!plan.isBlocked && !(before?.step === 0 && plan.isOver)) this.#end(plan);
    if (!plan.isBlocked && this.#dropIfEmpty(list)) return;
    list.isOpen = plan.isBlocked;
    if (plan.isBlocked) this.#noteWaiting(list);
    this.#show(plan);
  }

  #end(plan: Plan): void {
    const { list, tail, last } = plan;
    const { published } = list;
    if (published === null) return;
    const isVanished = last !== null && !isEnd(last) && published.versionId === last.id;
    if (!plan.isOver && tail !== null) {
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
    // A version that has left the hub stays until the end of the sync.
    else if (current?.state === 'present') this.shown.set(list.key, current.id);
  }

  #noteWaiting({ published, first }: VersionList): void {
    // The version published last waits, too, because its deletion may follow.
    const last = published === null ? null : (this.#lists.versions.get(published.versionId) ?? null);
    for (let version = last ?? first; version !== null; version = version.after as Version) {
      if (version === last && published?.isDeleted === true) continue;
      if (version.state !== 'present') continue;
      this.stillWaiting.add(version.id);
      if (this.#input.changed.has(version.id)) this.waiting.push(version.id);
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
    if (published === null) list.key = oldestPresent(list)?.id ?? list.key;
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
    for (const { state } of membersOf(list)) if (state === 'present') return false;
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

/** If a version left the hub before its event, there is no record of it any more that a deletion could show. */
function lastAtHub(tail: Version | null, published: Published): string {
  return tail?.state === 'present' ? tail.id : published.versionId;
}

function oldestPresent(list: VersionList): Version | null {
  for (const version of membersOf(list)) if (version.state === 'present') return version;
  return null;
}

/**
 * The last version that is at the hub, or that left the hub while it was deleted or continued. In the second case, an
 * older version does not become current again.
 */
function tailOf(list: VersionList): Version | null {
  let tail: Version | null = list.last;
  while (tail !== null && !isEnd(tail)) tail = tail.before;
  return tail;
}

function isEnd({ state, isDeleted, isContinued }: Version): boolean {
  return state === 'present' || (state === 'gone' && (isDeleted || isContinued));
}
