import type { OutgoingRecord } from '../../../src/log/log.ts';
import { RequestFailure, type TransactionBrokers } from '../../../src/log/transaction-brokers.ts';
import {
  TransactionalProducer,
  type TransactionalProducerOptions,
} from '../../../src/log/transactional-producer.ts';
import { seededRandom } from '../parts/seeded-random.ts';
import type { Surroundings } from '../parts/surroundings.ts';
import { VirtualTime } from '../parts/virtual-time.ts';
import { SimulatedBatch } from './simulated-batch.ts';
import { SimulatedCluster } from './simulated-cluster.ts';

const TOPICS = ['users', 'results'] as const;
const PARTITIONS = 3;
const TRANSACTIONS = 25;
const MOST_RECORDS = 5;
/** All takes a hundredth of the time that it really takes. */
const TIME_FACTOR = 100;
const LATEST_MS = 1_000;

type Producer = Pick<TransactionalProducer, 'open' | 'begin' | 'send' | 'commit' | 'abort'>;
export type MakeProducer = (options: TransactionalProducerOptions) => Producer;

interface Placed {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly OutgoingRecord[];
}

/** What one history showed. */
export interface PlayedProducer {
  /** Empty: each transaction was committed once, whole, in order, or not at all where it was given up. */
  readonly problems: readonly string[];
  readonly happened: ReadonlyMap<string, number>;
}

/**
 * Lets a producer commit numbered transactions, one after another, on a cluster in trouble. One that fails is looked for in
 * the log and, if it is not there, committed again by a next producer. Sometimes that one comes while the former still works.
 */
export async function playProducer(
  seed: number,
  makeProducer: MakeProducer = (options) => new TransactionalProducer(options),
): Promise<PlayedProducer> {
  const time = new VirtualTime(0);
  const random = seededRandom(seed);
  const at = { time, random, trouble: random.pick([0, 0.3, 1, 2]) };
  const happened = new Map<string, number>();
  const count = (what: string): void => void happened.set(what, (happened.get(what) ?? 0) + 1);
  const history = new ProducerHistory(at, count, makeProducer);
  const problems: string[] = [];
  try {
    await time.run(() => history.play());
    problems.push(...history.problems());
  } catch (error) {
    problems.push(`the history did not end well: ${error instanceof Error ? error.message : typeof error}`);
  }
  return { problems, happened };
}

class ProducerHistory {
  readonly #at: Surroundings;
  readonly #count: (what: string) => void;
  readonly #makeProducer: MakeProducer;
  readonly #cluster: SimulatedCluster;
  readonly #problems: string[] = [];
  /** By the number of the transaction: the records of each attempt to commit it. */
  readonly #attempts = new Map<number, ReadonlySet<OutgoingRecord>[]>();

  constructor(at: Surroundings, count: (what: string) => void, makeProducer: MakeProducer) {
    this.#at = at;
    this.#count = count;
    this.#makeProducer = makeProducer;
    this.#cluster = new SimulatedCluster({ at, happened: count });
    for (const topic of TOPICS) this.#cluster.create(topic, PARTITIONS);
    this.#cluster.create('progress', 1);
  }

  async play(): Promise<void> {
    const { time, random } = this.#at;
    let producer: Producer | null = null;
    for (let number = 0; number < TRANSACTIONS;) {
      const current: Producer = producer ?? this.#newProducer(this.#cluster.connect());
      try {
        if (producer === null) await current.open();
        producer = current;
        // Only now that no other producer can commit is it certain whether a former one has.
        if (!this.#isCommitted(number)) await this.#commitInTime(current, number);
        number += 1;
      } catch (error) {
        if (!(error instanceof RequestFailure)) throw error;
        this.#count(`failed: ${error.type ?? error.outcome}`);
        producer = null;
        await time.sleep(random.below(20));
      }
    }
    this.#at.trouble = 0;
    // What was given up may still come.
    await time.sleep(LATEST_MS);
    await this.#newProducer(this.#cluster.connect()).open();
  }

  /** Sometimes does not wait for the end, as a process that is superseded while it works. */
  async #commitInTime(producer: Producer, number: number): Promise<void> {
    const { random, time, trouble } = this.#at;
    const committing = this.#commit(producer, number);
    if (trouble === 0 || !random.chance(0.1)) return committing;
    committing.then(
      () => this.#count('a superseded producer committed in time'),
      () => this.#count('a superseded producer was refused'),
    );
    await time.sleep(random.below(60));
    throw new RequestFailure('unanswered');
  }

  #newProducer(brokers: TransactionBrokers): Producer {
    const { time } = this.#at;
    return this.#makeProducer({
      brokers,
      transactionalId: 't',
      now: () => time.now() * TIME_FACTOR,
      sleep: (ms) => time.sleep(Math.min(ms, 5)),
    });
  }

  async #commit(producer: Producer, number: number): Promise<void> {
    const { random, time } = this.#at;
    const placed = this.#chooseRecords(number);
    const partitions = Map.groupBy(placed, ({ topic }) => topic);
    await producer.begin(
      new Map<string, readonly number[]>([
        ...[...partitions].map(([topic, some]) => [topic, some.map(({ partition }) => partition)] as const),
        ['progress', [0]],
      ]),
    );
    const sends = random.chance(0.3) ? [placed.slice(0, 2), placed.slice(2)] : [placed];
    for (const send of sends.filter(({ length }) => length > 0)) {
      const batches = send.map(({ topic, partition, records }) => {
        return { topic, partition, batch: new SimulatedBatch(records) };
      });
      this.#compareOffsets(send, await producer.send(batches));
    }
    if (random.chance(0.05)) await time.sleep(random.below(200));
    const progress = new SimulatedBatch([recordOf('users', number)]);
    await producer.send([{ topic: 'progress', partition: 0, batch: progress }]);
    await producer.commit();
  }

  #chooseRecords(number: number): readonly Placed[] {
    const { random } = this.#at;
    const all = TOPICS.flatMap((topic) =>
      Array.from({ length: PARTITIONS }, (_, partition) => {
        const count = random.below(MOST_RECORDS);
        return { topic, partition, records: Array.from({ length: count }, () => recordOf(topic, number)) };
      }),
    );
    const attempts = this.#attempts.get(number) ?? [];
    this.#attempts.set(number, [...attempts, new Set(all.flatMap(({ records }) => records))]);
    return all.filter(({ records }) => records.length > 0);
  }

  #compareOffsets(
    sent: readonly Placed[],
    appended: readonly { topic: string; partition: number; baseOffset: number }[],
  ): void {
    for (const { topic, partition, records } of sent) {
      const answers = appended.filter((each) => each.topic === topic && each.partition === partition);
      const [answer] = answers;
      const entries = this.#cluster.partitionOf(topic, partition)?.partition.entries ?? [];
      const first = entries.find(({ record }) => record === records[0]);
      if (answers.length !== 1 || answer?.baseOffset !== first?.offset)
        this.#problems.push(`${topic}/${partition} is not where the answer says`);
    }
  }

  #isCommitted(number: number): boolean {
    return this.#committed('progress', 0).some((record) => numberOf(record) === number);
  }

  #committed(topic: string, partition: number): readonly OutgoingRecord[] {
    const entries = this.#cluster.partitionOf(topic, partition)?.partition.entries ?? [];
    return entries.filter(({ state }) => state === 'committed').map(({ record }) => record);
  }

  /** Each transaction is in the log whole and once, and after those before it. */
  problems(): readonly string[] {
    const problems = [...this.#problems];
    const all: OutgoingRecord[] = [];
    for (const { topic, partition } of ALL_PARTITIONS) {
      const where = `${topic}/${partition}`;
      const { entries } = this.#cluster.partitionOf(topic, partition)?.partition ?? { entries: [] };
      if (entries.some(({ state }) => state === 'open')) problems.push(`${where} has an open record`);
      const committed = this.#committed(topic, partition);
      if (new Set(committed).size < committed.length) problems.push(`${where} holds a record twice`);
      const numbers = committed.map(numberOf);
      if (numbers.some((each, at) => each < (numbers[at - 1] ?? -1)))
        problems.push(`${where} is out of order`);
      if (topic !== 'progress') all.push(...committed);
    }
    const byNumber = Map.groupBy(all, numberOf);
    for (const [number, attempts] of this.#attempts) {
      if (!this.#isCommitted(number)) problems.push(`transaction ${number} is lost`);
      const committed = new Set(byNumber.get(number));
      if (!attempts.some((each) => each.symmetricDifference(committed).size === 0))
        problems.push(`transaction ${number} is not whole`);
    }
    return problems;
  }
}

const ALL_PARTITIONS = [...TOPICS, 'progress'].flatMap((topic) =>
  Array.from({ length: topic === 'progress' ? 1 : PARTITIONS }, (_, partition) => ({ topic, partition })),
);

function recordOf(topic: OutgoingRecord['topic'], number: number): OutgoingRecord {
  return { topic, key: String(number), body: null, headers: {} };
}

function numberOf({ key }: OutgoingRecord): number {
  return Number(key);
}
