import { isoOrNull } from '../../core/words.ts';

interface Found {
  records: number;
  firstMs: number;
  lastMs: number;
  /** The last record of each key that ever had the id. */
  readonly keys: Map<string, { readonly atMs: number; readonly isRemoval: boolean; readonly holds: boolean }>;
}

/** Kafka's defaults of log.cleaner.backoff.ms and file.delete.delay.ms, and end markers that come a second late. */
const SLACK_MS = 2 * 60_000;

/** What topics hold about an id, and by when Kafka has forgotten what was removed: for a person who must prove an erasure. */
export class Receipt {
  readonly #topics = new Map<string, Found>();

  /** Called for every record of a key, in order. `isAbout`: it contains the id. */
  note(record: { topic: string; key: string; atMs: number; isRemoval: boolean; isAbout: boolean }): void {
    const { topic, key, atMs, isRemoval, isAbout } = record;
    const found = this.#topics.get(topic) ?? { records: 0, firstMs: atMs, lastMs: atMs, keys: new Map() };
    if (!isAbout && !found.keys.has(key)) return;
    this.#topics.set(topic, found);
    found.keys.set(key, { atMs, isRemoval, holds: isAbout && !isRemoval });
    if (!isAbout) return;
    found.records += 1;
    found.firstMs = Math.min(found.firstMs, atMs);
    found.lastMs = Math.max(found.lastMs, atMs);
  }

  get topics(): readonly string[] {
    return [...this.#topics.keys()];
  }

  /** The cells of a table below {@link TITLES}. `settings`: by topic, as far as they are known. */
  rows(settings: ReadonlyMap<string, ReadonlyMap<string, string>>): string[][] {
    return [...this.#topics.keys()].toSorted().map((topic) => {
      const { records = 0, firstMs = NaN, lastMs = NaN, keys } = this.#topics.get(topic) ?? {};
      const last = [...(keys?.values() ?? [])];
      const held = last.filter(({ holds }) => holds).length;
      const msOf = (name: string): number => Number(settings.get(topic)?.get(name) ?? NaN);
      const lagMs = msOf('max.compaction.lag.ms');
      const intervalMs = Math.min(msOf('segment.ms'), lagMs);
      const valuesMs = lagMs + intervalMs + SLACK_MS;
      const keysMs = valuesMs + msOf('delete.retention.ms') + intervalMs;
      const goneBy = (some: typeof last, afterMs: number): string => {
        if (held > 0) return 'still published';
        return some.length === 0
          ? '-'
          : timeOf(some.reduce((ms, { atMs }) => Math.max(ms, atMs), 0) + afterMs);
      };
      const removals = last.filter(({ isRemoval }) => isRemoval);
      const gone = [goneBy(last, valuesMs), goneBy(removals, keysMs)];
      return [topic, String(records), timeOf(firstMs), timeOf(lastMs), String(held)].concat(gone);
    });
  }
}

export const TITLES = [
  'topic',
  'records',
  'first',
  'last',
  'still held',
  'values gone by',
  'keys gone by',
] as const;

function timeOf(atMs: number): string {
  return Number.isFinite(atMs) ? (isoOrNull(atMs) ?? '') : 'not known';
}
