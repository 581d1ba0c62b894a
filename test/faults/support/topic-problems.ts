import type { TopicRecord } from '../../integration/support/read-topics.ts';
import { sourceOf, type CollectionName } from '../../../src/model/collections.ts';
import { where } from './row-problems.ts';

/** Records whose `ce_id` an earlier record of their topic has. */
export function repeatedIds(suffix: string, records: readonly TopicRecord[]): string[] {
  const ids = new Set<string>();
  return records.flatMap((record) => {
    const id = record.headers['ce_id'] ?? '';
    const isRepeated = ids.has(id);
    ids.add(id);
    return isRepeated ? [`${suffix}: two records have one ce_id: ${where(record)}`] : [];
  });
}

/** Ids that a topic has twice, and records that repeat the content of the one before them. */
export function topicProblems(suffix: string, records: readonly TopicRecord[]): string[] {
  const problems = repeatedIds(suffix, records);
  const said = new Map<string, string>();
  for (const record of records) {
    const says = record.value === null ? 'gone' : (record.headers['content-hash'] ?? '');
    if ((said.get(record.key) ?? 'gone') === says) {
      problems.push(`${suffix} ${record.key}: the same twice: ${where(record)}`);
    }
    said.set(record.key, says);
  }
  return problems;
}

interface LoggedProgress {
  readonly mode: string;
  readonly sequence: number;
  readonly transactionId: string;
  readonly watermark: number | null;
  readonly offsets: Readonly<Record<string, number>>;
}

/**
 * Problems of `progress`: the transactions of each collection are numbered without a gap, their offsets and watermarks never
 * go back, and the last one accounts for all records of the topics. Of collections that are not among the topics, because
 * they lost records on purpose, only the numbers are checked. Where clocks jump, watermarks may jump too.
 */
export function progressProblems(
  progress: readonly TopicRecord[],
  topics: ReadonlyMap<string, readonly TopicRecord[]>,
  { clocksAgree }: { clocksAgree: boolean } = { clocksAgree: true },
): string[] {
  const problems: string[] = [];
  const byKey = Map.groupBy(progress, (record) => record.key);
  for (const [key, records] of byKey) {
    if (key === '@owner') continue;
    let before: LoggedProgress | null = null;
    const ids = new Set<string>();
    for (const record of records) {
      const logged = progressIn(record);
      if (logged === null) continue;
      const problem =
        problemAfter(before, logged, {
          isComplete: topics.has(key),
          isSourceComplete: topics.has(sourceOf(key as CollectionName)),
          clocksAgree,
        }) ?? (ids.has(logged.transactionId) ? 'has an id again' : null);
      if (problem !== null) problems.push(`progress ${key} ${logged.sequence}: ${problem}`);
      ids.add(logged.transactionId);
      before = logged;
    }
  }
  for (const [suffix, records] of topics) {
    // The progress of each collection counts its own rejects.
    if (suffix === 'rejects' || records.length === 0) continue;
    const last = progressIn(byKey.get(suffix)?.at(-1));
    problems.push(...unrecorded(suffix, { records, offsets: last?.offsets ?? {} }));
  }
  return problems;
}

function progressIn(record: TopicRecord | undefined): LoggedProgress | null {
  const value = record?.value ?? null;
  if (value === null) return null;
  const watermark = value['watermark'] ?? null;
  return {
    mode: String(value['mode']),
    sequence: Number(value['sequence']),
    transactionId: String(value['transactionId']),
    watermark: watermark === null ? null : Number(watermark),
    offsets: value['offsets'] as LoggedProgress['offsets'],
  };
}

function problemAfter(
  before: LoggedProgress | null,
  logged: LoggedProgress,
  known: { isComplete: boolean; isSourceComplete: boolean; clocksAgree: boolean },
): string | null {
  if (before === null) return null;
  if (logged.sequence !== before.sequence + 1) return `comes after ${before.sequence}`;
  if (!known.isComplete) return null;
  for (const [name, offset] of Object.entries(before.offsets)) {
    if ((logged.offsets[name] ?? -1) < offset) return `goes back in ${name}`;
  }
  // A full sync may have begun before incremental syncs that ended during it: the next incremental sync reads their rows once more.
  // With its records a source loses its watermark, and what is derived from it loses its own.
  if (logged.watermark === null && !known.isSourceComplete) return null;
  const isTakenBack = before.watermark !== null && (logged.watermark ?? 0) < before.watermark;
  return isTakenBack && known.clocksAgree && logged.mode === 'INCREMENTAL'
    ? 'takes its watermark back'
    : null;
}

/** Expects the last record of each partition at the offset in the progress. */
function unrecorded(
  suffix: string,
  { records, offsets }: { records: readonly TopicRecord[]; offsets: LoggedProgress['offsets'] },
): string[] {
  const last = new Map(records.map(({ topic, partition, offset }) => [`${topic}/${partition}`, offset]));
  return [...last].flatMap(([name, offset]) => {
    const logged = offsets[name] ?? -1;
    return logged === offset
      ? []
      : [`${suffix}: the last record of ${name} is ${offset}, progress says ${logged}`];
  });
}
