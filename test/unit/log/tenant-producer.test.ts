import type { Kafka, Producer } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { RollcallError } from '../../../src/errors.ts';
import { TenantProducer } from '../../../src/log/tenant-producer.ts';

const asError = (error: unknown): RollcallError =>
  new RollcallError('KAFKA_OUTCOME_UNKNOWN', (error as Error).message, { remedy: '' });

function producerAt(disconnected: Producer[] = []): TenantProducer {
  const kafka = {
    producer: () => {
      const producer = {
        events: {},
        on: () => undefined,
        disconnect: () => {
          disconnected.push(producer as unknown as Producer);
          return Promise.resolve();
        },
      };
      return producer;
    },
  };
  return new TenantProducer(kafka as unknown as Kafka, 'p.t');
}

describe('the producer of a tenant', () => {
  it('begins a task only when the one before has ended', async () => {
    const producer = producerAt();
    producer.create();
    const events: string[] = [];
    const first = Promise.withResolvers<void>();
    const one = producer.inTurn(async () => {
      events.push('first begins');
      await first.promise;
      events.push('first ends');
    }, asError);
    const two = producer.inTurn(async () => {
      events.push('second begins');
    }, asError);
    await Promise.resolve();
    first.resolve();
    await Promise.all([one, two]);
    expect(events).toEqual(['first begins', 'first ends', 'second begins']);
  });

  it('is disconnected after a failure, a task that waited for its turn does not get it, and a new producer runs tasks again', async () => {
    const disconnected: Producer[] = [];
    const producer = producerAt(disconnected);
    producer.create();
    let seen: Producer | null = null;
    let hasRun = false;
    const one = producer.inTurn(async (current) => {
      seen = current;
      throw new Error('refused');
    }, asError);
    const two = producer.inTurn(async () => {
      hasRun = true;
    }, asError);
    const [first, second] = await Promise.allSettled([one, two]);
    expect(first).toMatchObject({ status: 'rejected', reason: { message: 'refused' } });
    expect(second).toMatchObject({
      status: 'rejected',
      reason: { code: 'KAFKA_NOT_SENT', message: 'Nothing was sent for p.t: refused' },
    });
    expect(disconnected).toEqual([seen]);
    expect(hasRun).toBe(false);
    producer.create();
    await expect(producer.inTurn(() => Promise.resolve('done'), asError)).resolves.toBe('done');
  });
});
