import type { TopicRecord } from './stack-kafka.ts';

/** `<collection> <kind> <key>` of records, by their headers and keys alone, sorted; a key with two records stands there twice. */
export function publishedLines(records: readonly TopicRecord[]): readonly string[] {
  return records.map(lineOf).toSorted();
}

function lineOf({ topic, key, value, headers }: TopicRecord): string {
  const collection = topic.split('.').at(-1) ?? '';
  if (collection === 'rejects') {
    const bar = key.indexOf('|');
    const id = decodeURIComponent(key.slice(bar + 1));
    return `${key.slice(0, bar)} ${value === null ? 'unrejected' : 'rejected'} ${id}`;
  }
  const kind = headers['ce_type']?.split('.').at(-1) ?? '';
  return `${collection} ${collection === 'absence-changes' && value === null ? 'forgotten' : kind} ${key}`;
}
