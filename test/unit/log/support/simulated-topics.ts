import { createRequire } from 'node:module';
import type { RequestFor } from '../../../../src/log/wire/kafka-broker.ts';
import type { TopicQuestions } from '../../../../src/log/topic-offsets.ts';
import { RequestFailure } from '../../../../src/log/transaction-brokers.ts';
import { askedFor, type Asked } from './asked-for.ts';

const { errorCodes } = createRequire(import.meta.url)('kafkajs/src/protocol/error') as {
  errorCodes: readonly { readonly type: string; readonly code: number }[];
};

export function codeOf(type: string): number {
  return errorCodes.find((each) => each.type === type)?.code ?? -1;
}

/** Topics of one partition, led by one node, which answers as the test says. */
export function questionsOf(
  topics: ReadonlySet<string>,
  answer: (asked: Asked) => Promise<unknown>,
): TopicQuestions {
  return {
    partitionsOf: async (names, options) => {
      const missing = names.find((name) => !topics.has(name));
      if (missing !== undefined && options?.skipsMissing !== true)
        throw new RequestFailure('refused', { type: 'UNKNOWN_TOPIC_OR_PARTITION', topic: missing });
      return names.filter((name) => topics.has(name)).map((topic) => ({ topic, partition: 0, leader: 1 }));
    },
    ask: <Answer>(_: number, requestFor: RequestFor) => answer(askedFor(requestFor)) as Promise<Answer>,
  };
}
