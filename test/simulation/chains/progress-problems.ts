import {
  DERIVED_COLLECTIONS,
  STATE_TOPIC,
  type DerivedCollection,
  type TopicSuffix,
} from '../../../src/model/collections.ts';
import { offsetsWithout, type Offsets, type Progress } from '../../../src/model/progress.ts';
import { partitionName, topicName } from '../../../src/model/topic-names.ts';
import type { CommittedRecord, CommittedTransaction } from '../tenants/broker.ts';
import { SCOPE } from '../tenants/broker-log.ts';
import type { MirroredAbsences } from './mirrored-absences.ts';

const OWN_TOPICS: Readonly<Record<string, readonly TopicSuffix[]>> = {
  'absence-versions': ['absence-versions', 'rejects'],
  absences: ['absences'],
  'absence-changes': ['absence-changes'],
};

/** Compares the progress records with the records in the topics. */
export function problemsOfChainProgress({ broker }: MirroredAbsences): string[] {
  const problems: string[] = [];
  const counter = new Counter((topic) => broker.recordsOf(topic));
  for (const [at, transaction] of broker.transactions.entries()) {
    const { progress, derived } = transaction;
    counter.goTo(at, progress.syncId);
    const found = [
      ...problemsOfOffsets(progress, counter),
      ...derived.flatMap((each) => problemsOfDerived(transaction, each, counter)),
    ];
    problems.push(...found.map((why) => `progress in transaction ${at}: ${why}`));
  }
  return problems;
}

function problemsOfDerived(
  { progress }: CommittedTransaction,
  derived: Progress,
  counter: Counter,
): string[] {
  const problems = problemsOfOffsets(derived, counter);
  const { collection, lastCompleteFull: full } = derived;
  if (!(DERIVED_COLLECTIONS as readonly string[]).includes(collection)) problems.push(`of ${collection}`);
  const name = collection as DerivedCollection;
  for (const field of ['sequence', 'transactionId', 'syncId', 'mode', 'complete'] as const) {
    if (derived[field] !== progress[field]) problems.push(`${name} has another ${field}`);
  }
  const completesFull = progress.lastCompleteFull?.syncId === progress.syncId;
  if (completesFull !== (full?.syncId === progress.syncId))
    problems.push(`${name} ${completesFull ? 'does not complete' : 'completes'} the full sync`);
  const rows = counter.keysOf(name);
  if (completesFull && full?.rows !== rows) problems.push(`${name}: ${full?.rows} rows, it has ${rows}`);
  const { published, removed } = counter.ofSync(name);
  if (derived.rowsPublished !== published)
    problems.push(`${name}: ${derived.rowsPublished} published, they were ${published}`);
  if (derived.rowsRemoved !== removed)
    problems.push(`${name}: ${derived.rowsRemoved} removed, they were ${removed}`);
  return problems;
}

function problemsOfOffsets(progress: Progress, counter: Counter): string[] {
  const { collection, lastCompleteFull } = progress;
  // A changelog that was lost begins again at 0; whether it is complete, its replay shows.
  const offsets = offsetsWithout(progress.offsets, [STATE_TOPIC]);
  const wanted = sorted(counter.offsetsOf(OWN_TOPICS[collection] ?? []));
  const problems: string[] = [];
  if (sorted(offsets) !== wanted) problems.push(`${collection}: offsets ${sorted(offsets)}, not ${wanted}`);
  if (lastCompleteFull?.syncId === progress.syncId && sorted(lastCompleteFull.offsets) !== wanted)
    problems.push(`${collection}: complete at ${sorted(lastCompleteFull.offsets)}, not ${wanted}`);
  return problems;
}

function sorted(offsets: Offsets): string {
  return JSON.stringify(Object.entries(offsets).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Counts a tenant's records, transaction by transaction. */
class Counter {
  readonly #recordsOf: (topic: TopicSuffix) => readonly CommittedRecord[];
  readonly #read = new Map<TopicSuffix, number>();
  readonly #offsets = new Map<TopicSuffix, Record<string, number>>();
  readonly #keys = new Map<TopicSuffix, Set<string>>();
  readonly #syncs = new Map<string, { published: number; removed: number }>();
  #syncId = '';

  constructor(recordsOf: (topic: TopicSuffix) => readonly CommittedRecord[]) {
    this.#recordsOf = recordsOf;
  }

  goTo(transaction: number, syncId: string): void {
    this.#syncId = syncId;
    for (const topic of ['absence-versions', 'rejects', ...DERIVED_COLLECTIONS] as const) {
      const records = this.#recordsOf(topic);
      const keys = this.#keys.get(topic) ?? new Set();
      this.#keys.set(topic, keys);
      const tally = this.ofSync(topic);
      this.#syncs.set(`${syncId} ${topic}`, tally);
      let read = this.#read.get(topic) ?? 0;
      for (; records[read]?.transaction === transaction; read += 1) {
        const { key, body, partition, offset } = records[read] as CommittedRecord;
        const offsets = this.#offsets.get(topic) ?? {};
        this.#offsets.set(topic, offsets);
        offsets[partitionName(topicName(SCOPE, topic), partition)] = offset;
        tally[body === null ? 'removed' : 'published'] += 1;
        if (body === null) keys.delete(key);
        else keys.add(key);
      }
      this.#read.set(topic, read);
    }
  }

  keysOf(topic: TopicSuffix): number {
    return this.#keys.get(topic)?.size ?? 0;
  }

  ofSync(topic: TopicSuffix): { published: number; removed: number } {
    return this.#syncs.get(`${this.#syncId} ${topic}`) ?? { published: 0, removed: 0 };
  }

  offsetsOf(topics: readonly TopicSuffix[]): Offsets {
    return Object.assign({}, ...topics.map((topic) => this.#offsets.get(topic) ?? {})) as Offsets;
  }
}
