/**
 * Runs tasks one after another, in their order, and none after one has failed: after a failure of log or index their
 * content is uncertain, so nothing may be decided on it.
 */
export class TaskQueue {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task);
    this.#last = result;
    // Whoever asked for the task, or for a later one, gets the failure.
    result.catch(() => undefined);
    return result;
  }
}
