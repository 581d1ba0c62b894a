import type { ReferenceHub } from '../../reference-hub/start-reference-hub.ts';
import { recordHistory, type HubState, type HubStates, type Row } from './history.ts';
import {
  compactedView,
  doubledRecords,
  isNothing,
  where,
  type OrderOptions,
  type TopicRecord,
} from './rows.ts';

/* Checks `absences` and `absence-changes` by the contract alone (spec 3; invariants 6 and 11). */

type Records = readonly TopicRecord[];

/** All committed records of the three topics. */
export interface AbsenceLog {
  /** Left out: they are as the hub has them. */
  readonly versions?: Records | undefined;
  readonly absences: Records;
  readonly changes: Records;
}

/** What the hub had, for the checks of chains. */
export interface TrueChains {
  /** Of `absence-versions`. */
  readonly states: HubStates;
  /** The ids of each chain that spec 3 allows, oldest first. */
  readonly chains: readonly (readonly string[])[];
  /** When the first load of absences ended, as time of publication; left out: before the states begin. */
  readonly loadedAtMs?: number | undefined;
}

/** One event of `absence-changes`, as a consumer decodes it. */
export type LoggedChange = NonNullable<ReturnType<typeof changeOf>>;

export function loggedChanges(records: Records): LoggedChange[] {
  return records.flatMap(({ value }) => changeOf(value) ?? []);
}

function changeOf(value: Row | null) {
  return (
    value && {
      absenceId: String(value['absenceId']),
      step: Number(value['step']),
      operation: String(value['operation']),
      versionId: idOf(value['version']) ?? '',
      previousId: idOf(value['previousVersion']),
      snapshot: value['snapshot'] === true,
      cause: String(value['cause']),
      mergedInto: (value['mergedInto'] as string | null) ?? null,
    }
  );
}

/** Compares with the present state of a hub whose chains are sound; the first problems, and first records that stand twice. */
export function chainProblems(options: {
  hub: Pick<ReferenceHub, 'district'>;
  absences: Records;
  changes: Records;
  mayRepeat?: OrderOptions['mayRepeat'];
}): string[] {
  const states = recordHistory(options.hub, ['absence-versions']).of('absence-versions');
  const hub = { states, chains: chainsOf(states) };
  return [
    ...doubledRecords(options.absences, options).map((why) => `absences ${why}`),
    ...doubledRecords(options.changes, options).map((why) => `changes ${why}`),
    ...problemsOfSteps(options.changes),
    ...studentProblems(options),
    ...problemsOfChains(options, hub),
    ...problemsOfShown(options, hub),
  ].slice(0, 10);
}

/** The chains by the links of a hub that keeps spec 3, those that have left it included. */
export function chainsOf(states: HubStates): string[][] {
  const follows = new Map<string, string>();
  for (const [id, ofId] of states) {
    const replaces = idOf(ofId.findLast(({ row }) => row !== null)?.row?.['replaces']);
    if (replaces !== null && states.has(replaces)) follows.set(replaces, id);
  }
  const later = new Set(follows.values());
  return [...states.keys()]
    .filter((id) => !later.has(id))
    .map((first) => {
      const chain = [first];
      for (let id = follows.get(first); id !== undefined; id = follows.get(id)) chain.push(id);
      return chain;
    });
}

/** What no reader of `absence-changes` may ever meet, whatever the hub does. */
export function problemsOfSteps(changes: Records): string[] {
  const last = new Map<string, LoggedChange>();
  return changes.flatMap((record) => {
    const { key } = record;
    const before = last.get(key);
    const change = changeOf(record.value);
    const found: string[] = [];
    if (change === null) {
      last.delete(key);
      if (before?.operation !== 'DELETED')
        found.push(`nulled, but ${before === undefined ? 'never created' : 'not deleted'}`);
    } else {
      last.set(key, change);
      found.push(...problemsOfStep(change, before));
      if (change.absenceId !== key) found.push('of another absence than its key');
      if (record.headers['ce_type'] !== `rollcall.absence.${change.operation.toLowerCase()}`)
        found.push('ce_type');
    }
    return found.map((why) => `changes ${key}: ${why}, ${where(record)}`);
  });
}

function problemsOfStep(change: LoggedChange, before: LoggedChange | undefined): string[] {
  const problems: string[] = [];
  const { operation, step, cause, versionId, previousId, mergedInto } = change;
  const what = `${operation} ${step}`;
  const isOver = before?.operation === 'DELETED';
  const mayFollow = before === undefined ? ['CREATED'] : isOver ? ['RESTORED'] : ['REPLACED', 'DELETED'];
  if (step !== (before?.step ?? 0) + 1) problems.push(`step ${step} after ${before?.step ?? 'none'}`);
  if (!mayFollow.includes(operation)) problems.push(`${what} cannot follow`);
  if (operation === 'REPLACED' && versionId === before?.versionId)
    problems.push(`${what}: replaced by itself`);
  if ((cause === 'MERGED') !== (mergedInto !== null))
    problems.push(`${what}: mergedInto does not fit the cause`);
  const expected = before === undefined || before.versionId === versionId ? null : before.versionId;
  if (previousId !== expected)
    problems.push(
      `${what}: previousVersion is ${previousId ?? 'null'}, ${expected ?? 'nothing'} came before`,
    );
  return problems;
}

/** Contract: `snapshot` is true up to the transaction that completes the first full sync of chains, and false afterwards. */
export function problemsOfSnapshot(changes: Records, progress: Records): string[] {
  const end = firstLoadEnd(progress)?.value?.['offsets'] as Readonly<Record<string, number>> | undefined;
  return changes.flatMap((record) => {
    const change = changeOf(record.value);
    const isFirst = end === undefined || record.offset <= (end[`${record.topic}/${record.partition}`] ?? -1);
    return change === null || change.snapshot === isFirst
      ? []
      : [
          `snapshot ${change.snapshot}, although the first load ${isFirst ? 'goes on' : 'is over'}: ${where(record)}`,
        ];
  });
}

/** The record that ends the first load of absences. */
export function firstLoadEnd(progress: Records): TopicRecord | undefined {
  return progress.find(
    ({ key, value }) => key === 'absence-changes' && value?.['complete'] === true && value['mode'] === 'FULL',
  );
}

/** Invariant 11: no two students' records stand under one absence id, or in one event, until its key is nulled. */
export function studentProblems({ absences, changes }: AbsenceLog): string[] {
  const shown = new Map<string, string>();
  const inOrder = [
    ...changes.map((record) => ({ record, isEvent: true })),
    ...absences.map((record) => ({ record, isEvent: false })),
  ].sort((one, other) => orderOf(one.record) - orderOf(other.record));
  return inOrder.flatMap(({ record, isEvent }) => {
    const { key, value } = record;
    if (isEvent && value === null) shown.delete(key);
    const student = isEvent ? studentIn(value?.['version']) : studentIn(value);
    if (student === null) return [];
    const others = [shown.get(key), isEvent ? studentIn(value?.['previousVersion']) : null];
    shown.set(key, student);
    return others.some((other) => other != null && other !== student)
      ? [`records of two students under one absence id: ${key}, ${where(record)}`]
      : [];
  });
}

/** The records of an event are the last published ones of their versions at its commit, as far as that is known. */
export function problemsOfRecords({ versions = [], changes }: AbsenceLog): string[] {
  const published = new Map<string, string[]>();
  let at = 0;
  const take = (until: number): void => {
    for (; orderOf(versions[at]) <= until; at += 1) {
      const { key, value } = versions[at] as TopicRecord;
      if (value !== null) published.set(key, [...(published.get(key) ?? []), contentOf(value)]);
    }
  };
  const students = new Map(
    [...Map.groupBy(versions, ({ key }) => key)].map(([key, records]) => [
      key,
      new Set(records.flatMap(({ value }) => studentIn(value) ?? [])),
    ]),
  );
  return changes.flatMap((record) => {
    take(orderOf(record));
    return (['version', 'previousVersion'] as const).flatMap((name) => {
      const row = (record.value?.[name] ?? null) as Row | null;
      const id = idOf(row);
      if (row === null || id === null) return [];
      const what = `${id} of ${record.key}, ${where(record)}`;
      if (isNothing(row['fromTime'])) {
        // Invariant 11: an event has only the id of a record that was given to another student.
        const isGiven = (students.get(id)?.size ?? 0) > 1;
        return isGiven || name !== 'version' ? [] : [`a bare id: ${what}`];
      }
      const contents = published.get(id) ?? [];
      if (contents.length === 0) return [`published before the version itself: ${what}`];
      const known = record.transaction === undefined ? contents : contents.slice(-1);
      return known.includes(contentOf(row)) ? [] : [`an outdated record: ${what}`];
    });
  });
}

/** Where the two topics disagree on the current version, after any transaction that is known, and in the end. */
export function problemsOfAgreement({ versions = [], absences, changes }: AbsenceLog): string[] {
  const shown = new Map<string, string | null>();
  const published = new Map<string, string | null>();
  const deleted = new Set<string>();
  const ofVersions = Map.groupBy(versions, orderOf);
  const ofChanges = Map.groupBy(changes, orderOf);
  const ofAbsences = Map.groupBy(absences, orderOf);
  const transactions = [...new Set([...ofVersions.keys(), ...ofChanges.keys(), ...ofAbsences.keys()])];
  transactions.sort((one, other) => one - other);
  return transactions.flatMap((at) => {
    for (const { key, value } of ofVersions.get(at) ?? []) {
      if (isText(value?.['deletedTime'])) deleted.add(key);
      else if (value !== null) deleted.delete(key);
    }
    for (const { key, value } of ofChanges.get(at) ?? []) {
      const change = changeOf(value);
      published.set(key, change === null || change.operation === 'DELETED' ? null : change.versionId);
    }
    for (const { key, value } of ofAbsences.get(at) ?? []) shown.set(key, idOf(value));
    const touched = [...(ofChanges.get(at) ?? []), ...(ofAbsences.get(at) ?? [])].map(({ key }) => key);
    return [...new Set(touched)].flatMap((key) => {
      const [one, other] = [shown.get(key) ?? null, published.get(key) ?? null];
      // A deleted record is hidden at once, although its deletion may wait for an awaited id.
      const isHidden = one === null && deleted.has(other ?? '');
      return one === other || isHidden
        ? []
        : [
            `absences ${key}: shows ${one ?? 'nothing'}, the events say ${other ?? 'nothing'}, transaction ${at}`,
          ];
    });
  });
}

interface PublishedChain extends TrueChains {
  readonly versions: readonly string[];
  readonly records: Records;
  readonly events: readonly LoggedChange[];
  /** Versions published as current because the hub says so, in order. */
  readonly published: readonly string[];
  /** By version that was ever published: where in the log it was removed, infinite if it was not. */
  readonly removedAt: ReadonlyMap<string, number>;
}

/** Each version of a sound chain is published once, in order, under the id of the oldest; then the deletion. */
export function problemsOfChains(log: AbsenceLog, hub: TrueChains): string[] {
  const removedAt = new Map<string, number>();
  if (log.versions === undefined) for (const id of hub.states.keys()) removedAt.set(id, Infinity);
  for (const record of log.versions ?? [])
    removedAt.set(record.key, record.value === null ? orderOf(record) : Infinity);
  const ofVersion = Map.groupBy(log.changes, ({ value }) => changeOf(value)?.versionId ?? null);
  return hub.chains.flatMap((versions) => {
    const records = versions
      .flatMap((id) => ofVersion.get(id) ?? [])
      .sort((one, other) => orderOf(one) - orderOf(other) || one.offset - other.offset);
    const events = loggedChanges(records);
    const published = events
      .filter(({ operation, cause }) => operation !== 'DELETED' && cause !== 'VANISHED')
      .map(({ versionId }) => versionId);
    const chain = { ...hub, versions, records, events, published, removedAt };
    if (isTorn(chain)) return [];
    const story = events.map(({ operation, versionId, cause }) => `${operation} ${versionId} ${cause}`);
    return [...problemsOfSequence(chain), ...problemsOfEnd(chain), ...problemsOfId(chain)].map(
      (why) => `changes ${versions.join(' ')}: ${why}, published ${story.join(', ') || 'nothing'}`,
    );
  });
}

/** Whether a version between two published ones left the hub unread: nothing shows that these belong together. */
function isTorn(chain: PublishedChain): boolean {
  const isPublished = chain.versions.map((id) => chain.published.includes(id));
  return chain.versions
    .slice(isPublished.indexOf(true), isPublished.lastIndexOf(true))
    .some((id) => !chain.published.includes(id) && (leftBefore(chain, id) || !chain.removedAt.has(id)));
}

/** Whether it left the hub before absences were loaded, although its row may have been published before. */
function leftBefore({ states, loadedAtMs = -Infinity }: TrueChains, id: string): boolean {
  return (states.get(id)?.find(({ row }) => row === null)?.sinceMs ?? Infinity) <= loadedAtMs;
}

function presentIn({ states, versions }: PublishedChain): string[] {
  return versions.filter((id) => last(states.get(id)) !== null);
}

function problemsOfSequence(chain: PublishedChain): string[] {
  const { versions, published, events } = chain;
  const problems: string[] = [];
  if (published.join(' ') !== versions.filter((id) => published.includes(id)).join(' '))
    problems.push('not published in order, each once');
  const missing = versions.filter((id) => !published.includes(id) && mustBePublished(chain, id));
  if (missing.length > 0) problems.push(`not published ${missing.join(' ')}`);
  if (events.some(({ operation, cause }) => operation === 'RESTORED' || cause === 'MERGED'))
    problems.push('restored or merged');
  return problems;
}

/** Published versions need an event unless they left before a later event; a chain that has left completely needs none. */
function mustBePublished(chain: PublishedChain, id: string): boolean {
  const removed = chain.removedAt.get(id);
  if (removed === undefined || presentIn(chain).length === 0 || leftBefore(chain, id)) return false;
  const later = new Set(chain.versions.slice(chain.versions.indexOf(id)));
  const passed = chain.events.findIndex(({ versionId }) => later.has(versionId));
  return removed > (passed === -1 ? -1 : orderOf(chain.records[passed]));
}

function problemsOfEnd(chain: PublishedChain): string[] {
  const { versions, events, states } = chain;
  const problems: string[] = [];
  const present = presentIn(chain);
  const ofTail = states.get(versions.at(-1) ?? '') ?? [];
  const isOver = !isCurrent(last(ofTail));
  const end = events.at(-1);
  if (present.length + events.length > 0 && (end?.operation === 'DELETED') !== isOver)
    problems.push(isOver ? 'over, but not published as over' : 'published as over, but it is not');
  const wasDeleted = ofTail.some(({ row }) => isText(row?.['deletedTime']));
  if (end?.operation === 'DELETED' && end.cause === 'HUB' && !wasDeleted)
    problems.push('deleted at the hub without a deletedTime');
  // A chain that leaves during a full sync may seem to have lost only its end.
  if (present.length > 0 && events.some(({ cause }) => cause === 'VANISHED'))
    problems.push('published as vanished, but it is there');
  return problems;
}

function problemsOfId({ records, published }: PublishedChain): string[] {
  const [key, ...others] = new Set(records.map((record) => record.key));
  if (key === undefined || (others.length === 0 && key === published[0])) return [];
  return [others.length > 0 ? `under several ids: ${[key, ...others].join(' ')}` : `has the id ${key}`];
}

/** In the end each sound chain that is not deleted is shown once, by its tail; of others, only versions that are current. */
export function problemsOfShown(
  { versions, absences }: AbsenceLog,
  { states, chains }: TrueChains,
): string[] {
  const view = compactedView(absences);
  const records = versions && compactedView(versions);
  const shown = Map.groupBy(
    [...view.values()].map(({ value }) => idOf(value) ?? ''),
    (id) => id,
  );
  const problems = [...view].flatMap(([key, { value }]) => {
    const id = idOf(value) ?? '';
    const record = records === undefined ? last(states.get(id)) : (records.get(id)?.value ?? null);
    const found = [
      (shown.get(id)?.length ?? 0) > 1 ? 'is shown twice' : null,
      record === null ? 'is not at the hub' : null,
      isText(record?.['deletedTime']) ? 'is deleted' : null,
      value !== null && value['absenceId'] !== key ? 'stands under another id than its own' : null,
      records !== undefined && record !== null && value !== null && contentOf(record) !== contentOf(value)
        ? "does not show the version's record"
        : null,
    ];
    return found.flatMap((why) => (why === null ? [] : [`absences ${key}: ${id} ${why}`]));
  });
  const wrong = chains.flatMap((chain) => {
    const tail = chain.at(-1) ?? '';
    const wanted = isCurrent(last(states.get(tail))) ? [tail] : [];
    const seen = chain.flatMap((id) => shown.get(id) ?? []);
    return seen.join(' ') === wanted.join(' ')
      ? []
      : [
          `absences ${chain.join(' ')}: shows ${seen.join(' ') || 'nothing'}, not ${wanted.join(' ') || 'nothing'}`,
        ];
  });
  return [...problems, ...wrong];
}

/** Whether the hub ever gave a record to another student; Rollcall rejects it then. */
export function isGivenAway(states: readonly HubState[] | undefined): boolean {
  return new Set((states ?? []).flatMap(({ row }) => studentIn(row) ?? [])).size > 1;
}

const CONTENT = ['student', 'replaces', 'replacedBy', 'deletedTime', 'fromTime', 'toTime'] as const;

/** The content of a decoded version, whatever mapping it was published under. */
function contentOf(value: Row): string {
  const fields = [...CONTENT, 'absenceDurationValue'].map((name) => idOf(value[name]) ?? value[name] ?? null);
  return JSON.stringify([value['sourcedId'], ...fields]);
}

/** Where the transaction of a record stands in the log; all at one place where that is not known. */
function orderOf(record: TopicRecord | undefined): number {
  return record === undefined ? Infinity : (record.transaction ?? 0);
}

function last(states: readonly HubState[] | undefined): Row | null {
  return states?.at(-1)?.row ?? null;
}

function isCurrent(row: Row | null): boolean {
  return row !== null && !isText(row['deletedTime']);
}

/** Spec 2.2: a time is "absent or empty otherwise". */
function isText(value: unknown): boolean {
  return !isNothing(value) && value !== '';
}

function studentIn(version: unknown): string | null {
  return typeof version === 'object' && version !== null ? idOf((version as Row)['student']) : null;
}

function idOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  const id = (value as Row)['sourcedId'];
  return typeof id === 'string' ? id : null;
}
