import type { AbsenceEntry, AbsenceStep, Member, VersionRow } from './absence-entry.ts';
import { AbsenceEvents, type EventsInput } from './absence-events.ts';
import { VersionLists, type VersionList } from './version-lists.ts';

export interface DeriveInput {
  readonly mode: EventsInput['mode'];
  readonly rows: readonly VersionRow[];
  /** Versions that have left the hub. */
  readonly vanished: readonly string[];
  /** Absences to settle although none of their versions changed. */
  readonly open: readonly string[];
  /** The absences of all ids in the input, and of all ids that the rows refer to. */
  readonly entries: ReadonlyMap<string, AbsenceEntry>;
  /** See {@link EventsInput}. */
  readonly lacking?: ReadonlySet<string> | undefined;
}

export interface DerivedAbsences {
  readonly steps: readonly AbsenceStep[];
  /** For `absences`: the version that an absence shows, or null. */
  readonly shown: ReadonlyMap<string, string | null>;
  /** Absences of which the hub has nothing left: a null is published for their keys. */
  readonly ended: readonly string[];
  /** Changed entries; null removes one. */
  readonly entries: ReadonlyMap<string, AbsenceEntry | null>;
  /** Changes of pointers. Each id that is not the id of its absence has a pointer to its absence. Null removes one. */
  readonly pointers: ReadonlyMap<string, string | null>;
  /** Versions of this input whose records a later derivation needs. */
  readonly waiting: readonly string[];
  /** Versions whose records no later derivation needs any more. */
  readonly published: readonly string[];
  /** Versions whose student is not that of their absence. */
  readonly rejected: readonly string[];
}

/** A list must not grow without bounds, because its entry must fit into a record. */
const MEMBERS_AT_MOST = 1_000;
const NONE: ReadonlySet<string> = new Set();

/** The ids whose entries and pointers must be loaded. After that, load the entries that the pointers name. */
export function idsToLoad({ rows, vanished, open }: Omit<DeriveInput, 'entries' | 'mode'>): Set<string> {
  const ids = new Set<string>([...vanished, ...open]);
  for (const { id, replaces, replacedBy } of rows) {
    ids.add(id);
    if (replaces !== null) ids.add(replaces);
    if (replacedBy !== null) ids.add(replacedBy);
  }
  return ids;
}

/**
 * Derives absences and their changes from changed versions (contract, `absences` and `absence-changes`). The lists are
 * made in version-lists.ts, the events in absence-events.ts.
 */
export function deriveAbsences(input: DeriveInput): DerivedAbsences {
  const lists = new VersionLists();
  for (const [key, entry] of input.entries) lists.load(key, entry);
  const loaded = new Map([...lists.all].map((list) => [list.key, list]));
  lists.take(input.rows);
  lists.leave(input.vanished);
  for (const id of input.open) {
    const list = loaded.get(id);
    if (list !== undefined && lists.all.has(list)) lists.touched.add(list);
  }
  const changed = new Set(input.rows.map(({ id }) => id));
  const { mode, lacking = NONE } = input;
  const events = new AbsenceEvents({ mode, changed, lacking }, lists);
  events.settle();
  const { steps, shown, ended, waiting, stillWaiting } = events;
  const published: string[] = [];
  for (const [key, { isOpen, members }] of input.entries) {
    const list = loaded.get(key);
    if (!isOpen || list === undefined || isUnsettled(lists, list)) continue;
    for (const { id, state } of members) if (state === 'present' && !stillWaiting.has(id)) published.push(id);
  }
  const { rejected } = lists;
  return { steps, shown, ended, waiting, published, rejected, ...changesOf(lists, input.entries) };
}

function isUnsettled({ all, touched }: VersionLists, list: VersionList): boolean {
  return all.has(list) && !touched.has(list);
}

function changesOf(
  lists: VersionLists,
  before: DeriveInput['entries'],
): Pick<DerivedAbsences, 'entries' | 'pointers'> {
  const entries = new Map<string, AbsenceEntry | null>();
  const pointers = new Map<string, string | null>();
  const kept = new Set([...lists.all].filter((list) => isUnsettled(lists, list) && !lists.marked.has(list)));
  const unchanged = new Set([...kept].map(({ key }) => key));
  const keysBefore = new Map<string, string>();
  for (const [key, { members }] of before) {
    if (unchanged.has(key)) continue;
    entries.set(key, null);
    for (const { id } of members) {
      if (id === key) continue;
      pointers.set(id, null);
      keysBefore.set(id, key);
    }
  }
  for (const list of lists.all) {
    if (kept.has(list)) continue;
    const { key, student, published, isOpen, continuedBy } = list;
    const members = bounded(list);
    for (const { id } of members) {
      if (id === key) continue;
      if (keysBefore.get(id) === key) pointers.delete(id);
      else pointers.set(id, key);
    }
    entries.set(key, { student, members, published, isOpen, continuedBy });
  }
  return { entries, pointers };
}

/**
 * If a list has too many versions, the oldest are removed, but never the version that gives the absence its id, nor
 * the version published last.
 */
function bounded(list: VersionList): Member[] {
  let excess = list.members.length - MEMBERS_AT_MOST;
  const members: Member[] = [];
  for (const { id, state, isDeleted, isContinued, hasRefusedLink, namesSuccessor } of list.members) {
    excess -= 1;
    if (excess >= 0 && id !== list.key && id !== list.published?.versionId) continue;
    members.push({ id, state, isDeleted, isContinued, hasRefusedLink, namesSuccessor });
  }
  return members;
}
