import { createRequire } from 'node:module';

interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

const patched = new WeakSet<object>();

/**
 * Stops kafkajs 2.2.4 from waking each idle connection once a millisecond.
 *
 * Its request queue re-arms a timer with a delay of `throttledUntil - now`, which is negative when nothing is
 * throttled. An idle queue needs no timer: every new request schedules the check itself.
 */
export function letIdleConnectionsSleep(): void {
  const queueClass = createRequire(import.meta.url)('kafkajs/src/network/requestQueue') as {
    prototype: RequestQueue;
  };
  const queue = queueClass.prototype;
  if (patched.has(queue)) return;
  patched.add(queue);
  const schedule = Object.getOwnPropertyDescriptor(queue, 'scheduleCheckPendingRequests')
    ?.value as () => void;
  queue.scheduleCheckPendingRequests = function scheduleWhenPending(this: RequestQueue): void {
    if (this.pending.length > 0) schedule.call(this);
  };
}
