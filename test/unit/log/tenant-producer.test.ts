import type { Consumer, Kafka } from 'kafkajs';
import { expect, it, vi } from 'vitest';
import { RollcallError } from '../../../src/errors.ts';
import { TenantProducer } from '../../../src/log/tenant-producer.ts';

const asError = (error: unknown): RollcallError =>
  new RollcallError('KAFKA_OUTCOME_UNKNOWN', (error as Error).message, { remedy: '' });

function producerAt() {
  const disconnect = vi.fn<() => Promise<void>>(async () => undefined);
  const kafka: Pick<Kafka, 'consumer'> = {
    consumer: (options) => {
      options?.partitionAssigners?.[0]?.({ cluster: { disconnect } } as never);
      return { events: {}, on: () => undefined } as unknown as Consumer;
    },
  };
  const producer = new TenantProducer(kafka, 'p.t');
  producer.create();
  return { producer, disconnect };
}

it('the producer of a tenant begins a task only when the one before has ended', async () => {
  const { producer } = producerAt();
  const events: string[] = [];
  const first = Promise.withResolvers<void>();
  const one = producer.inTurn(async () => {
    await first.promise;
    events.push('first ends');
  }, asError);
  const two = producer.inTurn(async () => void events.push('second begins'), asError);
  await Promise.resolve();
  first.resolve();
  await Promise.all([one, two]);
  expect(events).toEqual(['first ends', 'second begins']);
});

it('the producer of a tenant is disconnected after a failure, and no task gets it that waited for its turn, but a new one', async () => {
  const { producer, disconnect } = producerAt();
  const waiting = vi.fn<() => Promise<void>>();
  const one = producer.inTurn(() => Promise.reject(new Error('refused')), asError);
  const two = producer.inTurn(waiting, asError);
  const message = 'Nothing was sent for p.t: refused';
  expect(await Promise.allSettled([one, two])).toMatchObject([
    { reason: { code: 'KAFKA_OUTCOME_UNKNOWN', message: 'refused' } },
    { reason: { code: 'KAFKA_NOT_SENT', message } },
  ]);
  expect([disconnect.mock.calls.length, waiting.mock.calls.length]).toEqual([1, 0]);
  producer.create();
  expect(await producer.inTurn(() => Promise.resolve('done'), asError)).toBe('done');
});
