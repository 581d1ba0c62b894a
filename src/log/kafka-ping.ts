import type { Admin, Kafka } from 'kafkajs';
import { kafkaError } from './kafka-errors.ts';

/** With a broker that accepts connections and says nothing, a question ends after some 40 s. */
const RETRY = { initialRetryTime: 300, retries: 1 };

/** Asks the brokers, over a connection of its own, whether they answer. */
export class KafkaPing implements AsyncDisposable {
  readonly #kafka: Pick<Kafka, 'admin'>;
  #admin: Admin | null = null;

  constructor(kafka: Pick<Kafka, 'admin'>) {
    this.#kafka = kafka;
  }

  /** Throws KAFKA_UNREACHABLE when no broker answers, KAFKA_REFUSED when it refuses the question. */
  async ping(): Promise<void> {
    try {
      if (this.#admin === null) {
        const admin = this.#kafka.admin({ retry: RETRY });
        await admin.connect();
        this.#admin = admin;
      }
      await this.#admin.describeCluster();
    } catch (error) {
      throw kafkaError(error, 'asking whether it answers');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#admin?.disconnect();
  }
}
