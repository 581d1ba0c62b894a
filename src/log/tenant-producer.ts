import type { Kafka, Producer } from 'kafkajs';
import type { RollcallError } from '../errors.ts';

/**
 * The one transactional producer of a tenant (KIP-98). A failed task discards it.
 *
 * A producer whose send or commit was rejected must never be used again: kafkajs rolls its sequence back, and if the
 * broker had taken the batch after all, the next one of that size passes for a repetition and is lost.
 */
export class TenantProducer {
  readonly #kafka: Kafka;
  readonly #transactionalId: string;
  #producer: Producer | null = null;
  #lastTurn: Promise<void> = Promise.resolve();

  constructor(kafka: Kafka, transactionalId: string) {
    this.#kafka = kafka;
    this.#transactionalId = transactionalId;
  }

  /** Makes a new producer. To connect it fences older ones and resolves the transaction that they left open. */
  create(): void {
    this.#producer = this.#kafka.producer({
      transactionalId: this.#transactionalId,
      idempotent: true,
      maxInFlightRequests: 1,
      // Rollcall creates a deleted topic again itself, with the settings of the contract instead of the brokers' defaults.
      allowAutoTopicCreation: false,
      transactionTimeout: 60_000,
      // Every message names its partition; the partitioner only has to pass it on.
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition ?? 0,
    });
  }

  /** Runs a task once those before it have ended: a transaction must not begin amid another one. */
  inTurn<T>(
    task: (producer: Producer) => Promise<T>,
    toError: (error: unknown) => RollcallError,
  ): Promise<T> {
    const turn = this.#lastTurn.then(() => this.run(task, toError));
    this.#lastTurn = turn.then(
      () => undefined,
      () => undefined,
    );
    return turn;
  }

  /** Runs a task at once. `toError` says what a failure means, also the failure that there is no producer. */
  async run<T>(
    task: (producer: Producer) => Promise<T>,
    toError: (error: unknown) => RollcallError,
  ): Promise<T> {
    try {
      if (this.#producer === null) throw new Error('the process does not own the tenant');
      return await task(this.#producer);
    } catch (error) {
      const failure = toError(error);
      await this.discard();
      throw failure;
    }
  }

  async discard(): Promise<void> {
    const producer = this.#producer;
    this.#producer = null;
    await producer?.disconnect().catch(() => undefined);
  }
}
