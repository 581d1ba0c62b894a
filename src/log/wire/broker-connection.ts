import { setTimeout as delay } from 'node:timers/promises';
import type { BrokerAt, KafkaBroker, KafkaSocket, RequestFor } from './kafka-broker.ts';
import { failureOf, innermost, isOfConnection } from '../kafka-failure.ts';
import { RequestFailure } from '../transaction-brokers.ts';

interface WaitingRequest {
  readonly requestFor: RequestFor;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (failure: unknown) => void;
}

const OPEN_WITHIN_MS = 10_000;
/** The broker breaks a connection that is used after its session has ended. */
const REOPEN_BEFORE_END_MS = 10_000;

/**
 * A connection to one broker, which opens with the first request, and again after it broke.
 *
 * A request is sent when the one before is answered, since a broker begins with it only then. So of the requests of many
 * tenants only one is unanswered when the connection breaks, and it is the only one whose time-out runs.
 */
export class BrokerConnection {
  readonly #newBroker: () => KafkaBroker;
  readonly #answerWithinMs: number;
  #waiting: WaitingRequest[] = [];
  #broker: KafkaBroker | null = null;
  #isSending = false;
  /** Until this time the broker reads nothing, because of a quota (KIP-219). */
  #throttledUntilMs = 0;

  constructor(brokerAt: BrokerAt, address: string, answerWithinMs: number) {
    this.#newBroker = () => brokerAt(address);
    this.#answerWithinMs = answerWithinMs;
  }

  get isOpen(): boolean {
    return this.#broker?.isConnected() ?? false;
  }

  /** Sends a request once at most. Rejects with a {@link RequestFailure}, or with why the login or an encoding failed. */
  ask<Answer>(requestFor: RequestFor): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push({ requestFor, resolve, reject });
    if (!this.#isSending) void this.#sendWaiting();
    return promise as Promise<Answer>;
  }

  /**
   * The requests that wait fail with this error, and the request that was sent fails as unanswered. The next request
   * opens the connection again.
   */
  breakOff(failure: unknown): void {
    const [waiting, broker] = [this.#waiting, this.#broker];
    this.#waiting = [];
    this.#broker = null;
    for (const { reject } of waiting) reject(failure);
    const connection = broker?.connectionPool.pool[0];
    connection?.rejectRequests(new RequestFailure('unanswered', { cause: failure }));
    broker?.disconnect().catch(() => undefined);
    // A broker that hangs would never end the connection.
    connection?.socket?.destroy();
  }

  async #sendWaiting(): Promise<void> {
    this.#isSending = true;
    while (this.#waiting.length > 0) {
      const throttledMs = this.#throttledUntilMs - performance.now();
      if (throttledMs > 0) await delay(throttledMs, undefined, { ref: false });
      const next = this.#waiting.shift();
      if (next !== undefined) await this.#send(next);
    }
    this.#isSending = false;
  }

  /**
   * Opens a new connection and logs in. This is needed at the beginning, after a connection has broken, and when the
   * session of a connection is about to end. Logging in again on the same connection is no alternative, because a
   * broker refuses it if less than a second has passed (ILLEGAL_SASL_STATE).
   */
  async #open(): Promise<KafkaBroker> {
    this.#broker?.disconnect().catch(() => undefined);
    const broker = (this.#broker = this.#newBroker());
    await within(OPEN_WITHIN_MS, broker.connect());
    endBeforeSession(broker.connectionPool.pool[0]);
    return broker;
  }

  /** Never rejects. */
  async #send({ requestFor, resolve, reject }: WaitingRequest): Promise<void> {
    let isSent = false;
    try {
      const broker = this.#broker?.isConnected() ? this.#broker : await this.#open();
      const request = requestFor(broker);
      isSent = true;
      const answer = await within(this.#answerWithinMs, broker.connectionPool.pool[0].send(request));
      const { clientSideThrottleTime = 0 } = answer as { readonly clientSideThrottleTime?: number };
      this.#throttledUntilMs = performance.now() + clientSideThrottleTime;
      resolve(answer);
    } catch (error) {
      reject(failureOf(error, isSent ? 'unanswered' : 'unsent'));
      // The requests that wait would need the same login, which would be refused again.
      if (!isSent || isOfConnection(innermost(error))) this.breakOff(failureOf(error, 'unsent'));
    }
  }
}

/**
 * Sets how long before the end of its session (KIP-368) the connection stops counting as connected. A session that ends
 * with its token may be shorter than the time that kafkajs usually leaves, and would never count as connected.
 */
function endBeforeSession(connection: KafkaSocket): void {
  const sessionMs = connection.sessionLifetime.toNumber();
  connection.reauthenticationThreshold = Math.min(REOPEN_BEFORE_END_MS, Math.floor(sessionMs / 2));
}

/** Rejects with the failure of a connection when the time is over. */
function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const late = setTimeout(() => {
    const why = `No answer within ${ms / 1000} s`;
    reject(Object.assign(new Error(why), { name: 'KafkaJSRequestTimeoutError' }));
  }, ms);
  work.then(resolve, reject).finally(() => clearTimeout(late));
  return promise;
}
