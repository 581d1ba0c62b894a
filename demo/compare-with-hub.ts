import { isDeepStrictEqual } from 'node:util';
import type { ReferenceHub } from '../reference-hub/start-reference-hub.ts';
import { chainProblems } from '../test/oracle/absences.ts';
import { differences, doubledRecords } from '../test/oracle/rows.ts';
import { absentStudents, scheduleDifferences, type Days } from '../test/oracle/schedules.ts';
import { count } from './screen.ts';
import {
  compactedView,
  readTopicsAt,
  type Servers,
  type TopicRecord,
} from '../test/integration/support/read-topics.ts';

export interface ComparedTopic {
  readonly collection: string;
  /** Number of records in the topic. */
  readonly records: number;
  /** Number of keys with a value. */
  readonly rows: number;
  /** The verdict if nothing differs; empty for a topic that the hub has no counterpart of. */
  readonly verdict: string;
  /** The first differences between the topic and the hub, one line per key. */
  readonly differences: readonly string[];
}

/**
 * Reads all topics from the beginning, like a consumer that knows only the contract, compares them with the hub, and looks for
 * records that stand twice. Yields a topic when it is compared.
 */
export async function* compareWithHub(options: {
  servers: Servers;
  hub: ReferenceHub;
  topics: readonly string[];
  /** The days whose schedules are mirrored. */
  days: Days;
  /** Called with what it does at the moment, for people. */
  onStep: (step: string) => void;
}): AsyncGenerator<ComparedTopic> {
  const { hub, days, servers, topics, onStep } = options;
  const onProgress = (done: 'read' | 'decoded', records: number): void =>
    onStep(`reading the topics: ${count(records)} records ${done}`);
  const byTopic = Map.groupBy(await readTopicsAt(servers, topics, { onProgress }), ({ topic }) => topic);
  const byCollection = new Map(
    topics.map((topic) => [topic.slice(topic.lastIndexOf('.') + 1), byTopic.get(topic) ?? []]),
  );
  onStep('comparing the chains of absences with the hub');
  const chains = chainProblems({
    hub,
    absences: byCollection.get('absences') ?? [],
    changes: byCollection.get('absence-changes') ?? [],
  });
  for (const [collection, records] of byCollection) {
    onStep(`comparing ${collection} with the hub`);
    const { verdict, differences } = comparisonOf({ hub, days, chains }, collection, byCollection);
    const rows = compactedView(records).size;
    yield { collection, records: records.length, rows, verdict, differences };
  }
}

type Records = ReadonlyMap<string, readonly TopicRecord[]>;

function comparisonOf(
  { hub, days, chains }: { hub: ReferenceHub; days: Days; chains: readonly string[] },
  collection: string,
  all: Records,
): Pick<ComparedTopic, 'verdict' | 'differences'> {
  const records = all.get(collection) ?? [];
  switch (collection) {
    case 'rejects':
    case 'progress':
      return { verdict: '', differences: doubledRecords(records).slice(0, MOST_SHOWN) };
    case 'absences':
      return {
        verdict: 'the tail of every chain that is not deleted',
        differences: [...problemsIn(chains, 'absences'), ...otherContents(all)],
      };
    case 'absence-changes':
      return {
        verdict: 'every step of every chain, once and in order',
        differences: problemsIn(chains, 'changes'),
      };
    case 'schedules':
      return {
        verdict: 'the lessons of every absent student',
        differences: scheduleDifferences({
          hub,
          students: absentStudents(hub, days),
          days,
          records,
          mayBeEmpty: true,
        }),
      };
    default: {
      const afterschoolIds = hub.district.afterschoolIds();
      return {
        verdict: 'equals the hub',
        differences: differences({ hub, collection, records, afterschoolIds }),
      };
    }
  }
}

/** The problems of one of the two topics of absences. */
function problemsIn(chains: readonly string[], topic: 'absences' | 'changes'): string[] {
  return chains.flatMap((problem) =>
    problem.startsWith(`${topic} `) ? [problem.slice(topic.length + 1)] : [],
  );
}

const MOST_SHOWN = 10;

/** Compares each absence with its id and its version; the versions themselves are compared with the hub. */
function otherContents(all: Records): string[] {
  const versions = compactedView(all.get('absence-versions') ?? []);
  const found: string[] = [];
  for (const [key, { value }] of compactedView(all.get('absences') ?? [])) {
    const version = versions.get(String(value?.['sourcedId']))?.value ?? null;
    const expected = version && { absenceId: key, ...version };
    if (!isDeepStrictEqual(contentOf(value), contentOf(expected))) {
      found.push(`${key}: differs from its version`);
    }
  }
  return found.slice(0, MOST_SHOWN);
}

/** Returns the content without the fields that do not count as changes. */
function contentOf(value: unknown): unknown {
  const text = JSON.stringify(value, (name, inner: unknown) =>
    name === 'href' || name === 'dateLastModified' ? undefined : inner,
  );
  return text === undefined ? null : (JSON.parse(text) as unknown);
}
