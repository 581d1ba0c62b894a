import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readStretches, type ReadOptions } from '../../../src/log/kafka-reader.ts';
import { RequestFailure } from '../../../src/log/transaction-brokers.ts';
import { codeOf, questionsOf } from './support/simulated-topics.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());
/** The fake timers of Vitest leave those of node:timers/promises as they are. */
const sleep: ReadOptions['sleep'] = (ms, value, options) =>
  new Promise((resolve, reject) => {
    setTimeout(() => resolve(value as never), ms);
    options?.signal?.addEventListener('abort', () => reject(options.signal?.reason as Error));
  });

interface Fetched {
  readonly topic: string;
  readonly partitions: readonly [{ readonly fetchOffset: number }];
}

/** What of a batch decides whether its records are read. */
interface Kind {
  readonly producerId?: string;
  readonly isControlRecord?: boolean;
  readonly key?: Buffer;
  readonly isUnreadable?: boolean;
}

const USERS = 'rollcall.north.users';
const PROGRESS = 'rollcall.north.progress';

/** Topics of one partition that become readable up to their stable ends. `kinds`: of the record at an offset. */
function laggingTopics(
  highWatermarks: Readonly<Record<string, number>>,
  { kinds = [], aborted = [] }: { kinds?: readonly Kind[]; aborted?: readonly object[] } = {},
) {
  const ends = new Map<string, number>();
  const fetchedFrom: number[] = [];
  let first = 0;
  let failure: Error | string | null = null;
  const messagesIn = (from: number, end: number) =>
    Array.from({ length: Math.max(0, end - from) }, (_, at) => {
      const { producerId = '1', isControlRecord = false, key = null, isUnreadable } = kinds[from + at] ?? {};
      const batchContext = { producerId, inTransaction: true, firstOffset: from + at, isUnreadable };
      return { offset: String(from + at), key, isControlRecord, batchContext };
    });
  const kafka = questionsOf(
    new Set(['progress', 'dead', 'busy', USERS, PROGRESS]),
    async ({ name, options }) => {
      const topics = options['topics'] as readonly Fetched[];
      if (name === 'ListOffsets')
        return {
          responses: topics.map(({ topic }) => ({
            topic,
            partitions: [{ partition: 0, errorCode: 0, offset: String(first) }],
          })),
        };
      if (failure instanceof Error) throw failure;
      const refused = failure === null ? 0 : codeOf(failure);
      return {
        responses: topics.map(({ topic, partitions: [{ fetchOffset }] }) => {
          fetchedFrom.push(fetchOffset);
          const end = ends.get(topic) ?? 0;
          const errorCode = fetchOffset < first ? codeOf('OFFSET_OUT_OF_RANGE') : refused;
          const messages = errorCode === 0 ? messagesIn(fetchOffset, end) : [];
          const highWatermark = String(Math.max(end, highWatermarks[topic] ?? 0));
          const partition = {
            partition: 0,
            errorCode,
            highWatermark,
            abortedTransactions: aborted,
            messages,
          };
          return { topicName: topic, partitions: [partition] };
        }),
      };
    },
  );
  return {
    kafka,
    fetchedFrom,
    fails: (how: Error | string | null) => (failure = how),
    deleteRecordsBefore: (offset: number) => (first = offset),
    async stableEndMovesTo(end: number, topic: string): Promise<void> {
      ends.set(topic, end);
      await vi.advanceTimersByTimeAsync(200);
    },
  };
}

const stretchesOf = (names: readonly string[], to: number) =>
  names.map((topic) => ({ topic, partition: 0, from: 0, to }));

/** Reads up to an offset of each topic. */
function read(
  topics: ReturnType<typeof laggingTopics>,
  { names = ['progress'], to = 3, awaitsDecision = false, signal = new AbortController().signal } = {},
) {
  const offsets: number[] = [];
  const seen = { isOver: false, offsets, error: undefined as unknown };
  const reading = readStretches({
    kafka: topics.kafka,
    stretches: stretchesOf(names, to),
    awaitsDecision,
    onMessages: async ({ messages }) => void offsets.push(...messages.map(({ offset }) => Number(offset))),
    signal,
    sleep,
  });
  void reading.catch((error: unknown) => (seen.error = error)).then(() => (seen.isOver = true));
  return seen;
}

it.each([
  ['waits for a commit that was acknowledged but whose markers are late', true, [3, 5_000, 5], 5],
  ['includes what was decided between the request for the end and the first fetch', true, [5], 5],
  ['ends at the stable end where a transaction stays undecided', true, [3, 12_000], 3],
  ['ends at the requested end when undecided transactions are not awaited', false, [3], 3],
])('reading to a given end %s', async (_, awaitsDecision, happens, end) => {
  const topics = laggingTopics({ progress: 5, dead: 5 });
  const seen = read(topics, { awaitsDecision });
  for (const what of happens) {
    expect(seen.isOver).toBe(false);
    if (what < 100) await topics.stableEndMovesTo(what, 'progress');
    else await vi.advanceTimersByTimeAsync(what);
  }
  expect([seen.isOver, seen.offsets]).toEqual([true, [0, 1, 2, 3, 4].slice(0, end)]);
});

it('reading a topic stops at the stable end while other transactions are committed beyond it', async () => {
  const topics = laggingTopics({ progress: 5, dead: 5 });
  const seen = read(topics, { names: ['dead', 'busy'], awaitsDecision: true });
  await topics.stableEndMovesTo(3, 'dead');
  for (let end = 3; end < 10 && !seen.isOver; end += 1) {
    await topics.stableEndMovesTo(end, 'busy');
    await vi.advanceTimersByTimeAsync(5_000);
  }
  expect(seen.isOver).toBe(true);
});

it('reading a topic leaves out markers and the records of aborted transactions', async () => {
  const abort = { isControlRecord: true, key: Buffer.alloc(4) };
  const kinds = [
    { producerId: '1' },
    { producerId: '2' },
    { producerId: '3' },
    { producerId: '1', ...abort },
    { producerId: '1' },
    { producerId: '2', ...abort },
    { producerId: '1', isControlRecord: true, key: Buffer.from([0, 0, 0, 1]) },
    { producerId: '2' },
  ];
  const aborted = [
    { producerId: '2', firstOffset: '1' },
    { producerId: '1', firstOffset: '0' },
  ];
  const topics = laggingTopics({}, { kinds, aborted });
  const seen = read(topics, { to: kinds.length });
  await topics.stableEndMovesTo(kinds.length, 'progress');
  expect([seen.isOver, seen.offsets]).toEqual([true, [2, 4, 7]]);
});

const ONE_UNREADABLE = [{}, { isControlRecord: true, isUnreadable: true }, {}];

it.each([
  [USERS, 'rollcall topics recreate users --tenant north --yes'],
  [PROGRESS, 'kafka-topics.sh … --delete --topic rollcall.north.progress'],
])(
  'an unreadable batch of $0 is named, with the command to begin the topic again',
  async (topic, command) => {
    const topics = laggingTopics({}, { kinds: ONE_UNREADABLE });
    const seen = read(topics, { names: [topic] });
    await topics.stableEndMovesTo(3, topic);
    expect(seen.error).toMatchObject({
      code: 'KAFKA_REFUSED',
      message: expect.stringContaining(`The batch at offset 1 of ${topic}/0 cannot be read`),
      remedy: expect.stringContaining(`"${command}"`),
    });
  },
);

it('a batch that cannot be read does not disturb a read that ends before it', async () => {
  const topics = laggingTopics({}, { kinds: ONE_UNREADABLE });
  const seen = read(topics, { to: 1 });
  await topics.stableEndMovesTo(3, 'progress');
  expect([seen.isOver, seen.offsets]).toEqual([true, [0]]);
});

it('reading a topic begins at its first record if the records before were deleted', async () => {
  const topics = laggingTopics({});
  topics.deleteRecordsBefore(2);
  const seen = read(topics, { to: 4 });
  await topics.stableEndMovesTo(4, 'progress');
  expect([seen.isOver, seen.offsets]).toEqual([true, [2, 3]]);
});

it.each([
  ['whose connection breaks', new RequestFailure('unanswered')],
  ['whose leader moves', 'NOT_LEADER_FOR_PARTITION'],
])('reading a topic %s goes on from where it was', async (_, failure) => {
  const topics = laggingTopics({});
  const seen = read(topics, { to: 6 });
  await topics.stableEndMovesTo(2, 'progress');
  topics.fails(failure);
  await topics.stableEndMovesTo(6, 'progress');
  await vi.advanceTimersByTimeAsync(20_000);
  topics.fails(null);
  await vi.advanceTimersByTimeAsync(1_000);
  expect([seen.isOver, seen.error, seen.offsets]).toEqual([true, undefined, [0, 1, 2, 3, 4, 5]]);
});

it('reading a topic fails when the leader has not answered for half a minute', async () => {
  const topics = laggingTopics({});
  const seen = read(topics, { to: Infinity });
  await vi.advanceTimersByTimeAsync(50_000);
  topics.fails(new RequestFailure('unsent'));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(seen.isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(seen.error).toMatchObject({ code: 'KAFKA_UNREACHABLE' });
});

it('reading a topic without the right to read it fails at once, and names the topic', async () => {
  const topics = laggingTopics({});
  topics.fails('TOPIC_AUTHORIZATION_FAILED');
  const seen = read(topics);
  await vi.advanceTimersByTimeAsync(1);
  expect(seen.error).toMatchObject({ message: expect.stringContaining('a right on progress') });
});

it('a stopped read of a topic ends once its running handler has ended, and passes no more records on', async () => {
  const stop = new AbortController();
  const handled = Promise.withResolvers<void>();
  const topics = laggingTopics({});
  const onMessages = vi.fn<ReadOptions['onMessages']>(() => handled.promise);
  const stretches = stretchesOf(['dead', 'busy'], 1);
  const reading = readStretches({ kafka: topics.kafka, stretches, onMessages, signal: stop.signal, sleep });
  const ended = vi.fn<(error: unknown) => void>();
  void reading.catch(ended);
  for (const name of ['dead', 'busy']) await topics.stableEndMovesTo(1, name);
  stop.abort('stopping');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ended).not.toHaveBeenCalled();
  handled.resolve();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ended).toHaveBeenCalledWith('stopping');
  expect(onMessages).toHaveBeenCalledOnce();
});

it('a read of a topic ends with its signal, even while it waits for an answer or for its next attempt', async () => {
  for (const failure of [null, new RequestFailure('unsent')]) {
    const stop = new AbortController();
    const topics = laggingTopics({});
    topics.fails(failure);
    const seen = read(topics, { signal: stop.signal });
    await vi.advanceTimersByTimeAsync(50);
    stop.abort('stopping');
    await vi.advanceTimersByTimeAsync(0);
    expect(seen.error).toBe('stopping');
  }
});
