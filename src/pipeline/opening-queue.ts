import { Semaphore } from '../hub/semaphore.ts';

/** Tenants that are opened at the same time: opening mostly waits for Kafka, and more would not make it faster. */
const OPENINGS_AT_ONCE = 10;
/** An opening that takes longer, as of a large index that is rebuilt, no longer keeps the next tenant waiting. */
const LONG_OPENING_MS = 30_000;

/**
 * Opens tenants (topics, schemas, take-over, catch-up) a few at a time, first come first served, so that hundreds of
 * them do not overload Kafka, registry and Redis at once and then take each other's load for an outage. No clock of an
 * opening runs before its turn has come.
 */
export class OpeningQueue {
  readonly #turns = new Semaphore(OPENINGS_AT_ONCE);

  /** Rejects with what `open` rejects with, or with the signal's reason when it aborts before the turn has come. */
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
