import { Mutex } from './mutex.ts';

/**
 * Runs tasks one after another, and none after one has failed: after a failure of log or index their content is
 * uncertain, so nothing may be decided on it.
 */
export class TaskQueue {
  readonly #mutex = new Mutex();
  #failure: { readonly error: unknown } | null = null;

  run<T>(task: () => Promise<T>): Promise<T> {
    return this.#mutex.run(async () => {
      if (this.#failure !== null) throw this.#failure.error;
      try {
        return await task();
      } catch (error) {
        this.#failure = { error };
        throw error;
      }
    });
  }
}
