import { setImmediate } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { RollcallError } from '../../../src/errors.ts';
import { Semaphore, Turns } from '../../../src/semaphore.ts';
import { tenantProducer, type TenantProducer } from '../../../src/log/tenant-producer.ts';
import type { TransactionBrokers } from '../../../src/log/transaction-brokers.ts';

const asError = (error: unknown): RollcallError =>
  new RollcallError('KAFKA_OUTCOME_UNKNOWN', (error as Error).message, { remedy: '' });

function createdProducer(transactions = new Turns(new Semaphore(2), 60_000)): TenantProducer {
  const producer = tenantProducer({} as TransactionBrokers, 'p.t', transactions);
  producer.create();
  return producer;
}

it('the producer of a tenant begins a task only when the one before has ended', async () => {
  const producer = createdProducer();
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

it('the producer of a tenant is discarded after a failure, and the next task gets another one', async () => {
  const producer = createdProducer();
  const waiting = vi.fn<() => Promise<void>>();
  const one = producer.inTurn(() => Promise.reject(new Error('refused')), asError);
  const two = producer.inTurn(waiting, asError);
  const message = 'Nothing of this transaction of p.t was sent to Kafka: refused';
  expect(await Promise.allSettled([one, two])).toMatchObject([
    { reason: { code: 'KAFKA_OUTCOME_UNKNOWN', message: 'refused' } },
    { reason: { code: 'KAFKA_NOT_SENT', message } },
  ]);
  expect(waiting).not.toHaveBeenCalled();
  producer.create();
  expect(await producer.inTurn(() => Promise.resolve('done'), asError)).toBe('done');
});

it('a task that waited while its producer was replaced fails, and sends nothing', async () => {
  const transactions = new Turns(new Semaphore(1), 60_000);
  const [one, other] = [createdProducer(transactions), createdProducer(transactions)];
  const first = Promise.withResolvers<void>();
  const running = one.inTurn(() => first.promise, asError);
  const task = vi.fn<() => Promise<void>>();
  const waiting = other.inTurn(task, asError);
  await setImmediate();
  other.discard();
  other.create();
  first.resolve();
  await running;
  await expect(waiting).rejects.toMatchObject({ code: 'KAFKA_NOT_SENT' });
  expect(task).not.toHaveBeenCalled();
});
