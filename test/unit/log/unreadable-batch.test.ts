import { expect, it } from 'vitest';
import { readStretches } from '../../../src/log/kafka-reader.ts';
import { questionsOf } from './support/simulated-topics.ts';

/** Reads a partition up to an offset. It has a record, a batch that cannot be read, and another record. */
async function read(topic: string, to: number): Promise<string[]> {
  const messages = [false, true, false].map((isUnreadable, firstOffset) => ({
    offset: String(firstOffset),
    isControlRecord: isUnreadable,
    batchContext: { firstOffset, isUnreadable },
  }));
  const kafka = questionsOf(new Set([topic]), async () => ({
    responses: [
      { topicName: topic, partitions: [{ partition: 0, errorCode: 0, highWatermark: '3', messages }] },
    ],
  }));
  const offsets: string[] = [];
  await readStretches({
    kafka,
    stretches: [{ topic, partition: 0, from: 0, to }],
    onMessages: async (some) => void offsets.push(...some.messages.map(({ offset }) => offset)),
    signal: new AbortController().signal,
  });
  return offsets;
}

it.each([
  ['users', 'rollcall topics recreate users --tenant north --yes'],
  ['progress', 'kafka-topics.sh … --delete --topic rollcall.north.progress'],
])('a batch of %s that cannot be read is named, and so is the command "%s"', async (suffix, command) => {
  const topic = `rollcall.north.${suffix}`;
  await expect(read(topic, 3)).rejects.toMatchObject({
    code: 'KAFKA_REFUSED',
    message: expect.stringContaining(`The batch at offset 1 of ${topic}/0 cannot be read`),
    remedy: expect.stringContaining(`"${command}"`),
  });
});

it('a batch that cannot be read does not disturb a reading that ends before it', async () => {
  expect(await read('rollcall.north.users', 1)).toEqual(['0']);
});
