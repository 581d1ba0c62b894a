import { expect, it } from 'vitest';
import { fetchOffsets } from '../../../src/log/topic-offsets.ts';
import { RequestFailure } from '../../../src/log/transaction-brokers.ts';
import { codeOf, questionsOf } from './support/simulated-topics.ts';

/** Topics with records 2 to 6 that are known, of which the first questions for offsets fail so. */
function topicsAfter(failures: readonly (Error | string)[], known = ['p.t.users', 'p.t.orgs']) {
  const left = [...failures];
  return questionsOf(new Set(known), async ({ options }) => {
    const failure = left.shift();
    if (failure instanceof Error) throw failure;
    const errorCode = failure === undefined ? 0 : codeOf(failure);
    const topics = options['topics'] as { topic: string; partitions: { timestamp: number }[] }[];
    return {
      responses: topics.map(({ topic, partitions }) => ({
        topic,
        partitions: partitions.map(({ timestamp }) => ({
          partition: 0,
          errorCode,
          offset: timestamp === -2 ? '2' : '7',
        })),
      })),
    };
  });
}

const RANGE = [{ partition: 0, low: 2, high: 7 }];

it('offsets are asked for again while a broker is away or a leader moves', async () => {
  const topics = topicsAfter([
    new RequestFailure('unsent'),
    new RequestFailure('unanswered'),
    'NOT_LEADER_FOR_PARTITION',
  ]);
  expect(await fetchOffsets(topics, ['p.t.users', 'p.t.orgs'])).toEqual(
    new Map([
      ['p.t.users', RANGE],
      ['p.t.orgs', RANGE],
    ]),
  );
});

it('a request for the offsets of a missing topic fails, and the error names the topic', async () => {
  const topics = topicsAfter([], ['p.t.users']);
  await expect(fetchOffsets(topics, ['p.t.users', 'p.t.orgs'])).rejects.toMatchObject({
    code: 'KAFKA_TOPIC_MISSING',
    message: expect.stringContaining('p.t.orgs'),
  });
});

it('a missing topic is left out of the offsets if the reader treats it as empty', async () => {
  const ranges = await fetchOffsets(topicsAfter([], ['p.t.users']), ['p.t.users', 'p.t.orgs'], 'skipped');
  expect([...ranges.keys()]).toEqual(['p.t.users']);
});

it('offsets of a topic that its leader does not know are asked for again only if the topic is new', async () => {
  const unknown = (): ReturnType<typeof topicsAfter> => topicsAfter(['UNKNOWN_TOPIC_OR_PARTITION']);
  await expect(fetchOffsets(unknown(), ['p.t.users'])).rejects.toMatchObject({ code: 'KAFKA_TOPIC_MISSING' });
  expect((await fetchOffsets(unknown(), ['p.t.users'], 'awaited')).get('p.t.users')).toEqual(RANGE);
});
