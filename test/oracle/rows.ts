import type { ReferenceHub } from '../../reference-hub/start-reference-hub.ts';
import { own, type HubState, type HubStates, type Row } from './history.ts';

/*
 * Compares topics of rows with the hub by the contract alone: known fields typed, the rest as JSON text in
 * `additionalFields`, null and omitted the same, sets without order, `dateLastModified` and `href` left out.
 */

/** A record as any consumer sees it: decoded through the registry, without any code of Rollcall. */
export interface TopicRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** ms since the epoch */
  readonly publishedAtMs: number;
  readonly key: string;
  /** Null for a removal. */
  readonly value: Row | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Where it is known: the position of its transaction in the order of commits. */
  readonly transaction?: number | undefined;
}

const NOT_COMPARED: readonly string[] = ['dateLastModified', 'href'];
const DAY_MS = 86_400_000;
/** Tolerance between the clocks of two processes of one machine. */
const CLOCKS_DIFFER_MS = 50;
/** The longest time between a decision of a sync and its commit. */
export const DECIDED_BEFORE_MS = 400;
const MOST_REPORTED = 10;

/** The records that compaction would keep: the last of each key, without tombstones. */
export function compactedView<Logged extends { readonly key: string; readonly value: unknown }>(
  records: readonly Logged[],
): Map<string, Logged> {
  const view = new Map<string, Logged>();
  for (const record of records) {
    if (record.value === null) view.delete(record.key);
    else view.set(record.key, record);
  }
  return view;
}

export function where({ topic, partition, offset, transaction }: TopicRecord): string {
  const place = `${topic.slice(topic.lastIndexOf('.') + 1)}/${partition} at ${offset}`;
  return transaction === undefined ? place : `${place} in transaction ${transaction}`;
}

/** Records whose `ce_id` an earlier record of their topic has. */
export function repeatedIds(records: readonly TopicRecord[]): string[] {
  const ids = new Set<string | undefined>();
  return records.flatMap((record) => {
    const id = record.headers['ce_id'];
    const isRepeated = ids.has(id);
    ids.add(id);
    return isRepeated ? [`two records have one ce_id: ${record.key}, ${where(record)}`] : [];
  });
}

/**
 * Those of all records of a topic that stand twice in it: an earlier one has their `ce_id`, or the one before of their key has
 * their content. Each comparison asks for them, since the last records of the keys do not show them.
 */
export function doubledRecords(
  records: readonly TopicRecord[],
  options: Pick<OrderOptions, 'mayRepeat'> = {},
): string[] {
  return [...repeatedIds(records), ...problemsOfOrder({ ...options, records })];
}

/** Each key that differs between what is there and what is wanted, and how; empty when they are equal. */
export function differing<Found, Wanted>(
  found: ReadonlyMap<string, Found>,
  wanted: ReadonlyMap<string, Wanted>,
  differenceOf: (wanted: Wanted, found: Found) => string | null,
): string[] {
  const problems: string[] = [];
  for (const [key, each] of wanted) {
    const there = found.get(key);
    const why = there === undefined ? 'missing from the topic' : differenceOf(each, there);
    if (why !== null) problems.push(`${key}: ${why}`);
  }
  for (const key of found.keys()) if (!wanted.has(key)) problems.push(`${key}: not at the hub`);
  return problems;
}

/**
 * The first differences between the compacted topic and the present hub, each with its key, and records that stand twice;
 * empty when they are equal.
 */
export function differences(options: {
  hub: Pick<ReferenceHub, 'district'>;
  /** The topic's last part. */
  collection: string;
  /** All records of that topic. */
  records: readonly TopicRecord[];
  afterschoolIds?: readonly string[] | undefined;
  mayRepeat?: OrderOptions['mayRepeat'];
}): string[] {
  const { records } = options;
  const different = differing(compactedView(records), expectedRows(options), differenceFrom);
  return [...different, ...doubledRecords(records, options)].slice(0, MOST_REPORTED);
}

/** Null when a record has the content of a row of the hub. `without`: fields that are not compared. */
export function differenceFrom(
  row: Row,
  { value }: Pick<TopicRecord, 'value'>,
  without: readonly string[] = [],
) {
  const { school } = row;
  const [id, ...others] = new Set(Array.isArray(school) ? school.map(idOf) : []);
  const schoolId = others.length === 0 ? id : undefined;
  const wanted = value !== null && Object.hasOwn(value, 'schoolId') ? { ...row, schoolId } : row;
  return differenceOf(wanted, asRow(value ?? {}), new Set([...NOT_COMPARED, ...without]));
}

function expectedRows({
  hub: { district },
  collection,
  afterschoolIds = [],
}: Parameters<typeof differences>[0]): Map<string, Row> {
  if (collection === 'class-students') {
    return new Map(
      district.ids('classes').map((id) => [id, { classId: id, students: district.studentsOfClass(id) }]),
    );
  }
  if (collection === 'afterschool-users') {
    return new Map(
      afterschoolIds.flatMap((parent) =>
        district
          .snapshot(`afterschool-users/${parent}`)
          .map((row): [string, Row] => [`${escaped(parent)}|${escaped(idOf(row))}`, row]),
      ),
    );
  }
  return new Map(district.snapshot(collection).map((row) => [idOf(row), row]));
}

export interface OrderOptions {
  /** All committed records of a topic, from the beginning. */
  readonly records: readonly TopicRecord[];
  /** The states of the rows by key, as the topic shows them; left out: only repetitions are looked for. */
  readonly states?: HubStates | undefined;
  /** Whether times of publication mean something: not while the clock of the machine jumps. */
  readonly clocksAgree?: boolean | undefined;
  /** Transactions by which the topic had lost records: what stood there may come again. */
  readonly lostAt?: readonly number[] | undefined;
  /** Whether there is a reason for a removal other than that the row left the hub. */
  readonly isExcused?: ((record: TopicRecord) => boolean) | undefined;
  /** Whether a record may have the content of the one before, as one that was republished does. */
  readonly mayRepeat?: ((record: TopicRecord) => boolean) | undefined;
  readonly without?: readonly string[] | undefined;
}

/**
 * Records that the history of the hub does not account for: those of each key must be some of the states of the hub, in the
 * order of the hub, without two equal ones in succession, and none before the hub had that state.
 */
export function problemsOfOrder(options: OrderOptions): string[] {
  return [...Map.groupBy(options.records, ({ key }) => key)].flatMap(([key, records]) =>
    problemsOfKey(records, options).map(([why, record]) => `${why}: ${key}, ${where(record)}`),
  );
}

function problemsOfKey(records: readonly TopicRecord[], options: OrderOptions): [string, TopicRecord][] {
  const { states, clocksAgree = true, lostAt = [], without = [] } = options;
  const ofKey = states?.get(records[0]?.key ?? '') ?? [];
  const problems: [string, TopicRecord][] = [];
  const says = (record: TopicRecord, { row }: HubState): boolean =>
    row === null || record.value === null
      ? row === record.value
      : differenceFrom(row, record, without) === null;
  let at = 0;
  let last: TopicRecord | null = null;
  let lossesPast = 0;
  for (const record of records) {
    for (; (lostAt[lossesPast] ?? Infinity) <= (record.transaction ?? 0); lossesPast += 1) {
      at = 0;
      last = null;
    }
    const before = last;
    last = record.value === null ? null : record;
    const isAgain = before === null ? record.value === null : repeats(record, before);
    if (isAgain && record.value === null && lostAt.length === 0) problems.push(['removed twice', record]);
    if (isAgain && record.value !== null && options.mayRepeat?.(record) !== true)
      problems.push(['published twice', record]);
    if (isAgain || states === undefined) continue;
    const isExcused = record.value === null && options.isExcused?.(record) === true;
    // Where there is another reason, a removal is not that of a row which left after the sync decided on it.
    const toleratedMs = isExcused ? -DECIDED_BEFORE_MS : CLOCKS_DIFFER_MS;
    const found = ofKey.findIndex(
      (state, index) =>
        index >= at &&
        says(record, state) &&
        (record.value !== null || state.sinceMs <= record.publishedAtMs + toleratedMs || !clocksAgree),
    );
    const state = ofKey[found];
    if (state === undefined) {
      if (!isExcused) problems.push([whyUnheardOf(record, ofKey, says), record]);
      continue;
    }
    if (found === at && before !== null && before.headers['ce_mapping'] === record.headers['ce_mapping'])
      problems.push(['published twice', record]);
    if (clocksAgree && record.publishedAtMs < state.sinceMs - CLOCKS_DIFFER_MS)
      problems.push(['published before the hub had it', record]);
    at = found;
  }
  return problems;
}

function repeats(record: TopicRecord, before: TopicRecord): boolean {
  const hash = record.headers['content-hash'];
  return hash !== undefined && hash === before.headers['content-hash'];
}

function whyUnheardOf(
  record: TopicRecord,
  states: readonly HubState[],
  says: (record: TopicRecord, state: HubState) => boolean,
): string {
  if (record.value === null) return 'removed, but it never left';
  if (states.length === 0) return 'was never at the hub';
  return states.some((state) => says(record, state)) ? 'older after newer' : 'content that the hub never had';
}

/** A value that is not a text cannot be a key, so the topic must not have it either. */
function idOf(row: Row): string {
  const id = row['sourcedId'];
  return typeof id === 'string' ? id : `not a text: ${JSON.stringify(id)}`;
}

function escaped(part: string): string {
  return part.replaceAll('%', '%25').replaceAll('|', '%7C');
}

/** The row of the hub again: `additionalFields` holds the original values. */
function asRow(value: Row): Row {
  const { additionalFields = null, ...typed } = value;
  if (additionalFields === null) return typed;
  return Object.assign(Object.create(null) as Row, typed, JSON.parse(additionalFields as string));
}

/** Null when a value of the hub and one of the topic are equal. */
function differenceOf(
  hub: unknown,
  topic: unknown,
  notCompared: ReadonlySet<string>,
  path = '',
): string | null {
  const difference = (what: string): string => `${path === '' ? 'the row' : path} ${what}`;
  if (isNothing(hub)) return isNothing(topic) || topic === '' ? null : difference('is null at the hub only');
  if (isNothing(topic)) return hub === '' ? null : difference('is null in the topic only');
  if (Array.isArray(hub)) {
    if (!Array.isArray(topic) || topic.length !== hub.length) return difference('has other elements');
    const left = [...(topic as unknown[])];
    for (const element of hub as unknown[]) {
      const match = left.findIndex((other) => differenceOf(element, other, notCompared) === null);
      if (match === -1) return difference('has other elements');
      left.splice(match, 1);
    }
    return null;
  }
  if (typeof hub === 'object') {
    if (typeof topic !== 'object') return difference('is an object at the hub only');
    const there = hub as Row;
    const here = topic as Row;
    for (const name of new Set([...Object.keys(there), ...Object.keys(here)])) {
      if (notCompared.has(name)) continue;
      const below = differenceOf(own(there, name), own(here, name), notCompared, `${path}.${name}`);
      if (below !== null) return below;
    }
    return null;
  }
  return sameScalar(hub, topic) ? null : difference('differs');
}

export function isNothing(value: unknown): boolean {
  return value === null || value === undefined;
}

function sameScalar(hub: unknown, topic: unknown): boolean {
  if (typeof topic === 'boolean') {
    return (topic ? [true, 'true', 1, '1'] : [false, 'false', 0, '0']).includes(hub as string);
  }
  if (typeof topic === 'number' && typeof hub === 'string') {
    const ms = Date.parse(hub);
    return hub.length === 10 ? topic * DAY_MS === ms : topic === ms;
  }
  return hub === topic;
}
