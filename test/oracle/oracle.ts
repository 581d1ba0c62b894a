import {
  chainsOf,
  firstLoadEnd,
  isGivenAway,
  problemsOfAgreement,
  problemsOfChains,
  problemsOfRecords,
  problemsOfShown,
  problemsOfSnapshot,
  problemsOfSteps,
  studentProblems,
  type AbsenceLog,
  type TrueChains,
} from './absences.ts';
import type { HubHistory, Row } from './history.ts';
import { problemsOfProgress, type Evidence, type ProgressOptions } from './progress.ts';
import {
  compactedView,
  differenceFrom,
  differing,
  problemsOfOrder,
  repeatedIds,
  type OrderOptions,
} from './rows.ts';

/*
 * The history of a hub says what the topics of its tenant may hold at any time, and must hold once it is at rest. The same
 * questions are asked of simulated and of real topics; those that need the order of commits are asked where it is known.
 */

export interface Mirrored {
  readonly history: Pick<HubHistory, 'collections' | 'of'>;
  readonly evidence: Evidence;
  /** The chains that spec 3 allows; left out: all of the hub's, by their links. */
  readonly chains?: readonly (readonly string[])[] | undefined;
}

export interface OracleOptions extends ProgressOptions {
  /** What is known about the order of a topic's records. Without it, lost topics are not checked. */
  readonly orderOf?: ((topic: string) => Partial<OrderOptions>) | undefined;
}

const DERIVED = ['absences', 'absence-changes'];

/** Wrongly published records, which later records do not hide. Empty when there are none. */
export function wronglyPublished(mirrored: Mirrored, options: OracleOptions = {}): string[] {
  const { evidence, history } = mirrored;
  const { lost = [], clocksAgree, orderOf } = options;
  const problems = lost.includes('progress') ? [] : problemsOfProgress(evidence, options);
  for (const [topic, records] of evidence) {
    if (lost.includes(topic) && orderOf === undefined) continue;
    problems.push(...repeatedIds(records));
    if (topic === 'progress') continue;
    const states = history.collections.includes(topic) ? history.of(topic) : undefined;
    problems.push(...problemsOfOrder({ records, states, clocksAgree, ...orderOf?.(topic) }));
  }
  const log = absencesIn(evidence);
  if (log === null || DERIVED.some((topic) => lost.includes(topic))) return problems;
  const isWhole = !lost.includes('absence-versions');
  const known = isWhole ? log : { ...log, versions: undefined };
  return [
    ...problems,
    ...problemsOfSteps(log.changes),
    ...studentProblems(log),
    ...(isWhole ? problemsOfRecords(log) : []),
    ...(isWhole && !lost.includes('progress')
      ? problemsOfSnapshot(log.changes, evidence.get('progress') ?? [])
      : []),
    ...problemsOfChains(known, trueChains(mirrored)),
  ];
}

/**
 * The differences between the compacted view of the topics and the rows that the hub has at rest. `mayStay`: keys that the
 * topic may have although the hub does not.
 */
export function notAsTheHub(
  mirrored: Mirrored,
  wanted: ReadonlyMap<string, ReadonlyMap<string, Row>>,
  options: { mayStay?: (collection: string, key: string) => boolean; without?: readonly string[] } = {},
): string[] {
  const { evidence } = mirrored;
  const problems = [...wanted].flatMap(([collection, rows]) => {
    const view = compactedView(evidence.get(collection) ?? []);
    for (const key of view.keys())
      if (!rows.has(key) && options.mayStay?.(collection, key) === true) view.delete(key);
    return differing(view, rows, (row, record) => differenceFrom(row, record, options.without)).map(
      (each) =>
        `${each.endsWith('not at the hub') ? 'left over' : 'differs from the hub'}: ${collection} ${each}`,
    );
  });
  const log = absencesIn(evidence);
  return log === null
    ? problems
    : [...problems, ...problemsOfAgreement(log), ...problemsOfShown(log, trueChains(mirrored))];
}

/** What is missing in the events of the chains that the hub has at rest, or is not as it has them. */
export function chainsNotAsTheHub(mirrored: Mirrored): string[] {
  const log = absencesIn(mirrored.evidence);
  return log === null ? [] : problemsOfChains(log, trueChains(mirrored));
}

function trueChains({ history, evidence, chains }: Mirrored): TrueChains {
  const states = history.of('absence-versions');
  const sound = chains ?? chainsOf(states);
  const loadedAtMs = firstLoadEnd(evidence.get('progress') ?? [])?.publishedAtMs ?? Infinity;
  return {
    states,
    chains: sound.filter((ids) => !ids.some((id) => isGivenAway(states.get(id)))),
    loadedAtMs,
  };
}

function absencesIn(evidence: Evidence): AbsenceLog | null {
  const [absences, changes] = DERIVED.map((topic) => evidence.get(topic));
  if (absences === undefined || changes === undefined) return null;
  return { versions: evidence.get('absence-versions'), absences, changes };
}
