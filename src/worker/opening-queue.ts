import { Semaphore } from '../hub/semaphore.ts';

/** Tenants to open at the same time: this mostly waits for Kafka, so a higher number would not be faster. */
const OPENINGS_AT_ONCE = 10;
/** An opening that takes longer, such as the rebuild of a large index, no longer delays the next tenant. */
const LONG_OPENING_MS = 30_000;

/**
 * Opens tenants (topics, schemas, take-over, recovery) a few at a time in the order of their requests, so that hundreds of
 * them do not overload Kafka, registry and Redis at once, and then mistake the load for an outage. No time limit of an
 * opening starts before its turn.
 */
export class OpeningQueue {
  readonly #turns = new Semaphore(OPENINGS_AT_ONCE);

  /** Rejects with the error of `open`, or with the signal's reason when it aborts before the turn. */
  async run<T>(open: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const release = await this.#turns.acquire(signal);
    const isLong = setTimeout(release, LONG_OPENING_MS);
    try {
      return await open();
    } finally {
      clearTimeout(isLong);
      release();
    }
  }
}
