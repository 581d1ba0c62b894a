import type { IHeaders, KafkaMessage } from 'kafkajs';
import { countOf, printable } from '../../core/words.ts';
import type { Output } from '../output.ts';
import type { TopicSuffix } from '../../model/collections.ts';
import { absenceStepOf } from './absence-step.ts';

/** A record that `tail` shows. */
export interface TailedRecord {
  readonly topic: string;
  readonly suffix: TopicSuffix;
  readonly partition: number;
  readonly offset: number;
  /** Time of publishing, ms since the epoch. */
  readonly publishedAtMs: number;
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The decoded value; null for a removal, or when the line does not need it. */
  readonly value: unknown;
  readonly isRemoval: boolean;
}

export function tailedRecord(
  at: { topic: string; suffix: TopicSuffix; partition: number },
  message: KafkaMessage,
  value: unknown,
): TailedRecord {
  return {
    ...at,
    offset: Number(message.offset),
    publishedAtMs: Number(message.timestamp),
    key: message.key?.toString('utf8') ?? '',
    headers: headersOf(message.headers),
    value,
    isRemoval: message.value === null,
  };
}

/** Header values as text; the last one if a name occurs several times. */
function headersOf(headers: IHeaders | undefined): Record<string, string> {
  // Without a prototype, `__proto__` is an ordinary key.
  const result = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(headers ?? {})) {
    const last = Array.isArray(value) ? value.at(-1) : value;
    if (last !== undefined) result[name] = last.toString('utf8');
  }
  return result;
}

/** One JSON object, for programs. */
export function recordAsJson(record: TailedRecord): Record<string, unknown> {
  const { topic, partition, offset, publishedAtMs, key, headers, value } = record;
  const timestamp = new Date(publishedAtMs).toISOString();
  return { topic, partition, offset, timestamp, key, headers, value: value ?? null };
}

const PAINT = {
  created: 'green',
  updated: 'yellow',
  replaced: 'yellow',
  deleted: 'red',
  restored: 'cyan',
  forgotten: 'dim',
} as const;

/**
 * The last part of `ce_type`: `created`, `updated` or `deleted`, and for events of absences also `replaced` or
 * `restored`; without the header it depends on the value. A null in `absence-changes` is no event, regardless of its
 * type: the absence is `forgotten`.
 */
export function kindOf(record: TailedRecord): string {
  if (record.suffix === 'absence-changes' && record.isRemoval) return 'forgotten';
  const kind = record.headers['ce_type']?.split('.').at(-1);
  return kind ?? (record.isRemoval ? 'deleted' : 'updated');
}

export interface RecordLineOptions {
  readonly colors: Output['colors'];
  readonly values: boolean;
  readonly showTopic: boolean;
  /** IANA name: the zone in which times of absences are shown. */
  readonly timeZone: string;
}

const WIDEST_KIND = 7;
const WIDEST_KIND_OF_ABSENCES = 9;

/** One line for people: time, place, kind, key; the contents of a row only with `values`. */
export function recordLine(record: TailedRecord, options: RecordLineOptions): string {
  const { colors, values, showTopic } = options;
  const kind = kindOf(record);
  const paint = kind in PAINT ? colors[PAINT[kind as keyof typeof PAINT]] : colors.cyan;
  const parts = [
    colors.dim(clockTime(record.publishedAtMs)),
    ...(showTopic ? [record.topic] : []),
    `${record.partition}@${record.offset}`.padEnd(8),
    paint(
      printable(kind).padEnd(record.suffix === 'absence-changes' ? WIDEST_KIND_OF_ABSENCES : WIDEST_KIND),
    ),
    printable(record.key),
    ...[summaryOf(record, options)].filter((text) => text !== ''),
    ...(values && !record.isRemoval ? [colors.dim(printable(jsonOf(record.value)))] : []),
  ];
  return parts.join('  ');
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value) ?? '';
}

function clockTime(atMs: number): string {
  const time = new Date(atMs);
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}

/** A summary for Rollcall's own topics, without text of a person; empty for other topics. */
function summaryOf(record: TailedRecord, options: RecordLineOptions): string {
  const { suffix, value } = record;
  if (suffix === 'absence-changes') return stepText(record, options);
  if (typeof value !== 'object' || value === null) return '';
  const fields = value as Readonly<Record<string, unknown>>;
  if (suffix === 'rejects') return printable(textOf(fields['reason']));
  if (suffix !== 'progress') return '';
  if (typeof fields['owner'] === 'string') return `owned by ${printable(fields['owner'])}`;
  const counts = [
    `seen ${textOf(fields['rowsSeen'])}`,
    `published ${textOf(fields['rowsPublished'])}`,
    `removed ${textOf(fields['rowsRemoved'])}`,
    `rejected ${textOf(fields['rowsRejected'])}`,
    ...(Number(fields['rowsWithheld'] ?? 0) > 0 ? [`withheld ${textOf(fields['rowsWithheld'])}`] : []),
  ];
  const state = fields['complete'] === true ? 'complete' : 'running';
  return `#${textOf(fields['sequence'])} ${textOf(fields['mode'])} ${state}: ${counts.join(', ')}`;
}

/** The version, unless the absence has its id. */
function versionText(key: string, ids: { versionId: string; previousId: string | null }): string[] {
  if (ids.previousId !== null) return [`→ ${printable(ids.versionId)}`];
  return ids.versionId === key ? [] : [`version ${printable(ids.versionId)}`];
}

function stepText({ key, value }: TailedRecord, { colors, timeZone }: RecordLineOptions): string {
  const step = absenceStepOf(value, timeZone);
  if (step === null) return '';
  const { versionId, previousId, classId, previousClassId, otherFields, cause, mergedInto } = step;
  const classes = [...new Set([previousClassId, classId])].map((id) => printable(id ?? 'none'));
  const parts = [
    `step ${step.step}`,
    ...versionText(key, { versionId, previousId }),
    step.times,
    ...(classId === null && previousClassId === null ? [] : [`class ${classes.join(' → ')}`]),
    ...(otherFields.length === 0 ? [] : [`also ${otherFields.map(printable).join(', ')}`]),
    ...(cause === 'HUB' || cause === '' ? [] : [colors.yellow(printable(cause))]),
    ...(mergedInto === null ? [] : [`into ${printable(mergedInto)}`]),
    ...(step.isSnapshot ? [colors.dim('snapshot')] : []),
  ];
  return parts.join('  ');
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '0';
}

/** `3 records`. */
export function recordCount(count: number): string {
  return countOf(count, 'record');
}
