import type { IHeaders, KafkaMessage } from 'kafkajs';
import { countOf, printable } from '../words.ts';
import type { Output } from '../output.ts';
import type { TopicSuffix } from '../../model/collections.ts';

/** A record as `tail` shows it. */
export interface TailedRecord {
  readonly topic: string;
  readonly suffix: TopicSuffix;
  readonly partition: number;
  readonly offset: number;
  /** Time of publishing, ms since the epoch. */
  readonly publishedAtMs: number;
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Decoded; null for a removal, undefined where it was not asked for. */
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

/** Header values as text; of several of one name, the last. */
function headersOf(headers: IHeaders | undefined): Record<string, string> {
  const result: Record<string, string> = {};
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

const PAINT = { created: 'green', updated: 'yellow', deleted: 'red' } as const;

/** `created`, `updated` or `deleted`, as `ce_type` says; a record without it is judged by its value. */
export function kindOf(record: TailedRecord): string {
  const said = record.headers['ce_type']?.split('.').at(-1);
  return said ?? (record.isRemoval ? 'deleted' : 'updated');
}

/** One line for people: time, place, kind, key; what a row holds only with `values`. */
export function recordLine(
  record: TailedRecord,
  options: { colors: Output['colors']; values: boolean; showTopic: boolean },
): string {
  const { colors, values, showTopic } = options;
  const kind = kindOf(record);
  const paint = kind in PAINT ? colors[PAINT[kind as keyof typeof PAINT]] : colors.cyan;
  const parts = [
    colors.dim(clockTime(record.publishedAtMs)),
    ...(showTopic ? [record.topic] : []),
    `${record.partition}@${record.offset}`.padEnd(8),
    paint(printable(kind).padEnd(7)),
    printable(record.key),
    ...[summaryOf(record)].filter((text) => text !== ''),
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

/** Of Rollcall's own topics, what the record says in short: none of it comes out of a row. */
function summaryOf({ suffix, value }: TailedRecord): string {
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
  const state = fields['complete'] === true ? 'complete' : 'under way';
  return `#${textOf(fields['sequence'])} ${textOf(fields['mode'])} ${state}: ${counts.join(', ')}`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '0';
}

/** `3 records`: for the remark at the end. */
export function recordCount(count: number): string {
  return countOf(count, 'record');
}
