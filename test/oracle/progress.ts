import { isDerivedCollection, sourceOf, type CollectionName } from '../../src/model/collections.ts';
import { splitCompositeKey } from '../../src/model/keys.ts';
import type { CollectionIndex } from '../../src/state/index-store.ts';
import type { Row } from './history.ts';
import { compactedView, type TopicRecord } from './rows.ts';

/* Checks `progress`, and what an index says, against the records of the topics (invariant 1). */

type Records = readonly TopicRecord[];

/** All committed records of a tenant's topics, by the last part of their names. */
export type Evidence = ReadonlyMap<string, Records>;

interface LoggedProgress extends Row {
  readonly collection: string;
  readonly mode: string;
  readonly sequence: number;
  readonly transactionId: string;
  readonly syncId: string;
  readonly complete: boolean;
  readonly watermark: number | null;
  readonly rowsPublished: number;
  readonly rowsRemoved: number;
  readonly offsets: Readonly<Record<string, number>>;
  readonly lifeId: string | null;
  readonly lastCompleteFull: {
    readonly syncId: string;
    readonly rows: number;
    readonly rowsNotFound: number;
    readonly rowsRejected: number;
    readonly rowsWithoutId: number;
    readonly rowsOnHold: number;
    readonly offsets: Readonly<Record<string, number>>;
  } | null;
}

export interface ProgressOptions {
  readonly clocksAgree?: boolean | undefined;
  /** Topics that lost records on purpose; of their collections only the numbers are checked. */
  readonly lost?: readonly string[] | undefined;
}

/**
 * The transactions of each collection are numbered without a gap, their offsets and watermarks never go back, and the last one
 * accounts for all records of the topics.
 */
export function problemsOfProgress(evidence: Evidence, options: ProgressOptions = {}): string[] {
  const { lost = [] } = options;
  const byKey = progressIn(evidence);
  const problems: string[] = [];
  const source = new Map<string, LoggedProgress>();
  for (const logged of [...byKey.values()].flat()) {
    const { collection, transactionId } = logged;
    if (!isDerivedCollection(collection)) source.set(transactionId, logged);
  }
  const ids = new Set<string>();
  for (const [key, all] of byKey) {
    for (const [at, logged] of all.entries()) {
      const id = `${isDerivedCollection(key) ? key : ''} ${logged.transactionId}`;
      const found = [
        ...problemsAfter(all[at - 1], logged, options),
        ...(isTakenBack(all.slice(0, at), logged, options) ? ['takes its watermark back'] : []),
        ...(lost.length > 0 ? [] : problemsBeside(source.get(logged.transactionId), logged)),
        ...(ids.has(id) ? ['has an id again'] : []),
        ...problemsOfFull(logged.lastCompleteFull),
        ...(isLivedAgain(all.slice(0, at), logged) ? ['begins a life of its topic again'] : []),
        ...((logged.lifeId !== null) === hasRecords(logged)
          ? []
          : ['tells no life of its topic, or a false one']),
      ];
      ids.add(id);
      problems.push(...found.map((why) => `progress ${key} ${logged.sequence}: ${why}`));
    }
  }
  for (const [suffix, records] of evidence) {
    // The progress of each collection counts its own rejects.
    if (suffix === 'rejects' || suffix === 'progress' || lost.includes(suffix)) continue;
    const offsets = byKey.get(suffix)?.at(-1)?.offsets ?? {};
    for (const [name, offset] of lastOffsets(records))
      if (offsets[name] !== offset)
        problems.push(`${suffix}: the last record of ${name} is ${offset}, progress says ${offsets[name]}`);
  }
  return problems;
}

/** Rows without an id are some of the rejected ones, and those on hold are some of those not found. */
function problemsOfFull(full: LoggedProgress['lastCompleteFull']): string[] {
  if (full === null) return [];
  const { rows, rowsNotFound, rowsRejected, rowsWithoutId, rowsOnHold } = full;
  const isSound = rows >= 0 && rowsWithoutId <= rowsRejected && rowsOnHold <= rowsNotFound;
  return isSound ? [] : [`has counts that cannot be: ${JSON.stringify(full)}`];
}

function isLivedAgain(earlier: readonly LoggedProgress[], { lifeId }: LoggedProgress): boolean {
  return (
    lifeId !== earlier.at(-1)?.lifeId && earlier.some((each) => each.lifeId === lifeId && lifeId !== null)
  );
}

function hasRecords({ collection, offsets }: LoggedProgress): boolean {
  return Object.keys(offsets).some((name) => name.includes(`.${collection}/`));
}

function progressIn(evidence: Evidence): Map<string, LoggedProgress[]> {
  const values = (evidence.get('progress') ?? []).flatMap(({ key, value }) =>
    value === null || key.startsWith('@') ? [] : [value as LoggedProgress],
  );
  return Map.groupBy(values, ({ collection }) => collection);
}

function problemsAfter(
  before: LoggedProgress | undefined,
  logged: LoggedProgress,
  { lost = [] }: ProgressOptions,
): string[] {
  if (before === undefined) return [];
  const { collection, sequence } = logged;
  const problems = sequence === before.sequence + 1 ? [] : [`comes after ${before.sequence}`];
  const own = Object.entries(before.offsets).filter(([name]) => name.includes(`.${collection}/`));
  const isOver = own.some(([name, offset]) => (logged.offsets[name] ?? -1) < offset);
  if (before.lifeId !== null && (before.lifeId === logged.lifeId) === isOver)
    problems.push(isOver ? 'goes back in a life of its topic' : 'ends a life of its topic');
  for (const [name, offset] of lost.includes(collection) ? [] : Object.entries(before.offsets)) {
    // A changelog that was lost begins again at 0; whether it is complete, its replay shows.
    const isLost = [...lost, 'absence-state'].some((topic) => name.includes(`.${topic}/`));
    if ((logged.offsets[name] ?? -1) < offset && !isLost) problems.push(`goes back in ${name}`);
  }
  return problems;
}

/** Syncs of both modes run at once, and each leaves the watermark of its own begin: what one knew is read once more by the other. */
function isTakenBack(
  earlier: readonly LoggedProgress[],
  { collection, mode, watermark }: LoggedProgress,
  { clocksAgree = true, lost = [] }: ProgressOptions,
): boolean {
  // With its records or rejects a source loses its watermark, and what is derived from it loses its own.
  const sources = [sourceOf(collection as CollectionName), 'rejects'];
  const mayLose =
    lost.includes(collection) || (watermark === null && sources.some((topic) => lost.includes(topic)));
  if (mayLose || !clocksAgree || mode !== 'INCREMENTAL') return false;
  const before = earlier.findLast((each) => each.mode === mode && each.complete);
  // One that may not move the watermark leaves what a full sync has left.
  return (watermark ?? 0) < (before?.watermark ?? 0) && watermark !== earlier.at(-1)?.watermark;
}

/** What is derived is committed with its source. */
function problemsBeside(source: LoggedProgress | undefined, logged: LoggedProgress): string[] {
  if (!isDerivedCollection(logged.collection)) return [];
  if (source === undefined) return ['its source has no such transaction'];
  const fields = ['sequence', 'syncId', 'mode', 'complete'] as const;
  const problems = fields.flatMap((field) =>
    logged[field] === source[field] ? [] : [`has another ${field} than its source`],
  );
  const [full, completes] = [logged, source].map((each) => each.lastCompleteFull?.syncId === each.syncId);
  return full === completes
    ? problems
    : [...problems, `${full ? 'completes' : 'does not complete'} the full sync`];
}

/**
 * Where the log is known transaction by transaction: each progress counts just the records of its transaction, and what is
 * derived has the rows that it says.
 */
export function problemsOfCounts(evidence: Evidence): string[] {
  const problems: string[] = [];
  const progress = (evidence.get('progress') ?? []).filter(({ key }) => key.startsWith('absence'));
  const read = new Map<string, number>();
  const syncs = new Map<string, { published: number; removed: number }>();
  const views = new Map<string, { keys: Set<string>; offsets: Record<string, number> }>();
  for (const { key, value, transaction = 0 } of progress) {
    const logged = value as LoggedProgress;
    const view = views.get(key) ?? { keys: new Set(), offsets: {} };
    views.set(key, view);
    const sync = syncs.get(`${key} ${logged.syncId}`) ?? { published: 0, removed: 0 };
    syncs.set(`${key} ${logged.syncId}`, sync);
    for (const topic of key === 'absence-versions' ? [key, 'rejects'] : [key]) {
      const records = evidence.get(topic) ?? [];
      let at = read.get(topic) ?? 0;
      for (; (records[at]?.transaction ?? Infinity) <= transaction; at += 1) {
        const record = records[at] as TopicRecord;
        view.offsets[`${record.topic}/${record.partition}`] = record.offset;
        sync[record.value === null ? 'removed' : 'published'] += 1;
        if (topic === key) view.keys[record.value === null ? 'delete' : 'add'](record.key);
      }
      read.set(topic, at);
    }
    const full = logged.lastCompleteFull?.syncId === logged.syncId ? logged.lastCompleteFull : null;
    const found = [
      ['offsets', sorted(logged.offsets), sorted(view.offsets)],
      ...(full === null
        ? []
        : [
            ['offsets of the full sync', sorted(full.offsets), sorted(view.offsets)],
            ['rows', full.rows + full.rowsNotFound, view.keys.size],
          ]),
      ...(key === 'absence-versions'
        ? []
        : [
            ['rows published', logged.rowsPublished, sync.published],
            ['rows removed', logged.rowsRemoved, sync.removed],
          ]),
    ];
    for (const [what, said, counted] of found)
      if (said !== counted)
        problems.push(`progress ${key} ${logged.sequence}: says ${said} ${what}, counted ${counted}`);
  }
  return problems;
}

function sorted(offsets: Readonly<Record<string, number>>): string {
  const entries = Object.entries(offsets).filter(([name]) => !name.includes('.absence-state/'));
  return JSON.stringify(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function lastOffsets(records: Records): Map<string, number> {
  return new Map(records.map(({ topic, partition, offset }) => [`${topic}/${partition}`, offset]));
}

/** The differences between the index of a collection at rest and its topics and last progress. */
export async function problemsOfIndex(
  index: CollectionIndex,
  collection: CollectionName,
  evidence: Evidence,
): Promise<string[]> {
  const position = await index.position();
  const last = progressIn(evidence).get(collection)?.at(-1)?.transactionId ?? null;
  if (position === null) return [`index of ${collection}: is not there`];
  if (position.transactionId !== last) return [`index of ${collection}: reflects another transaction`];
  return problemsOfHashes(index, collection, evidence);
}

/** The same, of an index that may be a transaction behind. */
export async function problemsOfHashes(
  index: CollectionIndex,
  collection: CollectionName,
  evidence: Evidence,
): Promise<string[]> {
  const rejects = [...compactedView(evidence.get('rejects') ?? [])].flatMap(([key, record]) => {
    const [of, row = ''] = splitCompositeKey(key) ?? [];
    return of === collection ? [[row, record] as const] : [];
  });
  const areas = { rows: compactedView(evidence.get(collection) ?? []), rejects: new Map(rejects) };
  const problems: string[] = [];
  for (const area of ['rows', 'rejects'] as const) {
    const found = new Map<string, string>();
    for await (const batch of index.entries(area))
      for (const [key, hash] of batch) found.set(key, hash.toString('hex'));
    const said = new Map([...areas[area]].map(([key, { headers }]) => [key, headers['content-hash'] ?? '']));
    problems.push(...unequal(found, said).map((why) => `index of ${collection}: ${area} ${why}`));
  }
  return problems;
}

/** Each key at which what is there is not what the topics say. */
export function unequal(found: ReadonlyMap<string, string>, said: ReadonlyMap<string, string>): string[] {
  return [...new Set([...found.keys(), ...said.keys()])].flatMap((key) => {
    const [one, other] = [found.get(key) ?? 'nothing', said.get(key) ?? 'nothing'];
    return one === other ? [] : [`${key}: ${one}, in the topics ${other}`];
  });
}
