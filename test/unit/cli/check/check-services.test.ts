import { expect, it } from 'vitest';
import { brokersFound } from '../../../../src/cli/check/check-services.ts';
import { RequestFailure } from '../../../../src/log/transaction-brokers.ts';

const refused = Object.assign(new Error('Connection error: connect ECONNREFUSED'), {
  name: 'KafkaJSConnectionError',
  code: 'ECONNREFUSED',
});
const late = Object.assign(new Error('No answer within 10 s'), { name: 'KafkaJSRequestTimeoutError' });

function textsOf(tried: Record<string, unknown>) {
  const found = [...brokersFound(new Map(Object.entries(tried)), ', as rollcall')];
  return found.map(({ level, text }) => [level, text]);
}

it('check names each broker that does not answer, and says how many brokers answer', () => {
  const found = textsOf({
    'a:1': null,
    'b:2': new RequestFailure('unsent', { cause: refused }),
    'c:3': new RequestFailure('unsent', { cause: late }),
  });
  expect(found).toEqual([
    ['ok', 'a:1, as rollcall; answers from 1 of 3 brokers'],
    ['failure', 'b:2: nothing listens there (ECONNREFUSED)'],
    ['failure', 'c:3: Kafka failed while connecting: No answer within 10 s'],
  ]);
});

it('check lists the brokers on one line if all of them answer', () => {
  expect(textsOf({ 'a:1': null, 'b:2': null })).toEqual([['ok', 'a:1, b:2, as rollcall']]);
});
