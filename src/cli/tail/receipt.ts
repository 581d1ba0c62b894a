import { countOf, isoOrNull } from '../../core/words.ts';
import { partsOfTopic } from '../../model/topic-names.ts';
import { formatTable } from '../output.ts';

interface Found {
  records: number;
  firstMs: number;
  lastMs: number;
  /** The last record of each key that ever had the id. */
  readonly keys: Map<string, { readonly atMs: number; readonly isRemoval: boolean; readonly holds: boolean }>;
}

/** The settings of a topic, by their names. */
type Settings = ReadonlyMap<string, string>;

/** Kafka's defaults of log.cleaner.backoff.ms and file.delete.delay.ms, and end markers that come a second late. */
const SLACK_MS = 2 * 60_000;

/** What a topic holds, and by when Kafka has deleted the values and the keys; NaN: not known. Null: there is nothing to delete. */
interface TopicLine extends Pick<Found, 'records' | 'firstMs' | 'lastMs'> {
  readonly topic: string;
  /** Keys whose last record contains the id. */
  readonly held: number;
  /** Whether these are records of decisions, which Rollcall never removes. */
  readonly isKept: boolean;
  readonly valuesGoneMs: number;
  readonly keysGoneMs: number | null;
}

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

  /** Whether the last record of a key contains the id. */
  readonly contains = (topic: string, key: string): boolean =>
    this.#topics.get(topic)?.keys.get(key)?.holds === true;

  /**
   * A table, if anything was found, and the verdicts. `settings`: by topic, as far as they are known. `onHold`: what holds keep; it
   * is printed if rows contain the id.
   */
  lines(settings: ReadonlyMap<string, Settings>, nowMs: number, onHold: readonly string[]): string[] {
    const lines = [...this.#topics]
      .map(([topic, found]) => lineOf(topic, found, settings.get(topic)))
      .toSorted((one, other) => (one.topic < other.topic ? -1 : 1));
    const table = lines.length === 0 ? [] : formatTable(TITLES, lines.map(cellsOf));
    const isPublished = lines.some(({ held, isKept }) => held > 0 && !isKept);
    return [...table, ...(isPublished ? onHold : []), ...verdictsOn(lines, nowMs)];
  }
}

function lineOf(topic: string, found: Found, settings: Settings | undefined): TopicLine {
  const { records, firstMs, lastMs, keys } = found;
  const last = [...keys.values()];
  const msOf = (name: string): number => Number(settings?.get(name) ?? NaN);
  const lagMs = msOf('max.compaction.lag.ms');
  const intervalMs = Math.min(msOf('segment.ms'), lagMs);
  const valuesMs = lagMs + intervalMs + SLACK_MS;
  const keysMs = valuesMs + msOf('delete.retention.ms') + intervalMs;
  const latestOf = (some: typeof last): number => some.reduce((ms, { atMs }) => Math.max(ms, atMs), 0);
  const removals = last.filter(({ isRemoval }) => isRemoval);
  const held = last.filter(({ holds }) => holds).length;
  return {
    topic,
    records,
    firstMs,
    lastMs,
    held,
    isKept: held > 0 && partsOfTopic(topic)?.suffix === 'progress',
    valuesGoneMs: latestOf(last) + valuesMs,
    keysGoneMs: removals.length === 0 ? null : latestOf(removals) + keysMs,
  };
}

const TITLES = ['topic', 'records', 'first', 'last', 'still held', 'values gone by', 'keys gone by'] as const;

function cellsOf(line: TopicLine): string[] {
  const { topic, records, firstMs, lastMs, held, isKept, valuesGoneMs, keysGoneMs } = line;
  const goneBy = (atMs: number | null): string => {
    if (held > 0) return isKept ? 'kept for good' : 'still published';
    return atMs === null ? '-' : timeOf(atMs);
  };
  const times = [timeOf(firstMs), timeOf(lastMs)];
  return [topic, String(records), ...times, String(held), goneBy(valuesGoneMs), goneBy(keysGoneMs)];
}

/** Whether the topics still have something, and until when. */
function verdictsOn(lines: readonly TopicLine[], nowMs: number): string[] {
  if (lines.length === 0)
    return [
      'nothing found: no record of these topics contains this id. If an earlier search found it, its erasure from these topics is complete. If not, check that the id is spelled as at the hub, including its capital letters',
    ];
  const kept = lines.filter(({ isKept }) => isKept);
  const others = lines.filter(({ isKept }) => !isKept);
  return [
    ...(others.length === 0 ? [] : [verdictOnRows(others, nowMs)]),
    ...kept.map(
      ({ topic, held }) =>
        `not complete: the id is in ${topic}, in ${countOf(held, 'record of a decision', 'records of decisions')}, which Rollcall keeps for good: "rollcall help remove-a-pupil" says what to do`,
    ),
  ];
}

function verdictOnRows(lines: readonly TopicLine[], nowMs: number): string {
  const holding = lines.filter(({ held }) => held > 0);
  if (holding.length > 0) {
    const where = holding.map(({ topic, held }) => `${topic} (${countOf(held, 'key')})`).join(', ');
    return `not complete: the id is still published in ${where}. It stays until a full sync finds these rows gone or corrected, and until a person approves the removal of those on hold`;
  }
  const lastMs = Math.max(...lines.map((each) => Math.max(each.valuesGoneMs, each.keysGoneMs ?? 0)));
  if (Number.isNaN(lastMs))
    return 'not complete: Kafka still has these records. For how long is not known, because this user may not read the settings of the topics';
  return lastMs < nowMs
    ? `not complete: Kafka still has these records, although it should have deleted them by ${timeOf(lastMs)}; Kafka deletes records only while "rollcall run" runs`
    : `not complete until ${timeOf(lastMs)}: by then Kafka has deleted these records, if "rollcall run" runs and nobody changes the settings of these topics`;
}

function timeOf(atMs: number): string {
  return Number.isFinite(atMs) ? (isoOrNull(atMs) ?? '') : 'not known';
}
