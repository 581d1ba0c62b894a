import { createRequire } from 'node:module';

interface SentRequest {
  readonly sentAt: number;
  readonly requestTimeout: number;
  timeoutRequest(): void;
}

interface RequestQueue {
  readonly pending: readonly unknown[];
  readonly inflight: ReadonlyMap<number, SentRequest>;
  readonly requestTimeout: number;
  readonly enforceRequestTimeout: boolean;
  requestTimeoutIntervalId: NodeJS.Timeout | undefined;
  isConnected(): boolean;
  scheduleCheckPendingRequests(): void;
  scheduleRequestTimeoutCheck(): void;
  sendSocketRequest(request: unknown): void;
}

/** How often kafkajs checks for requests without an answer. */
const CHECK_EVERY_MS = 100;
const patched = new WeakSet<object>();

/**
 * Stops kafkajs 2.2.4 from waking each idle connection: once a millisecond for requests that wait, and ten times a second
 * for time-outs, while a process that only polls needs a connection once in many seconds.
 *
 * Its request queue re-arms a timer with a delay of `throttledUntil - now`, which is negative when nothing is
 * throttled. An idle queue needs no timer: every new request schedules the check itself. Likewise nothing can time out
 * while no request is in flight, so the first one starts the check and the check ends with the last one.
 */
export function letIdleConnectionsSleep(): void {
  const queueClass = createRequire(import.meta.url)('kafkajs/src/network/requestQueue') as {
    prototype: RequestQueue;
  };
  const queue = queueClass.prototype;
  if (patched.has(queue)) return;
  patched.add(queue);
  const original = <Name extends 'scheduleCheckPendingRequests' | 'sendSocketRequest'>(
    name: Name,
  ): RequestQueue[Name] => Object.getOwnPropertyDescriptor(queue, name)?.value as RequestQueue[Name];
  const schedule = original('scheduleCheckPendingRequests');
  queue.scheduleCheckPendingRequests = function scheduleWhenPending(this: RequestQueue): void {
    if (this.pending.length > 0) schedule.call(this);
  };
  const send = original('sendSocketRequest');
  queue.sendSocketRequest = function sendAndCheck(this: RequestQueue, request: unknown): void {
    send.call(this, request);
    checkWhileInFlight(this);
  };
  // kafkajs calls this when it has connected.
  queue.scheduleRequestTimeoutCheck = function checkOnceSent(this: RequestQueue): void {
    stopChecking(this);
    checkWhileInFlight(this);
  };
}

function checkWhileInFlight(queue: RequestQueue): void {
  const isNeeded = queue.enforceRequestTimeout && queue.inflight.size > 0;
  if (!isNeeded || queue.requestTimeoutIntervalId !== undefined) return;
  queue.requestTimeoutIntervalId = setInterval(
    () => {
      for (const request of queue.inflight.values()) {
        if (Date.now() - request.sentAt > request.requestTimeout) request.timeoutRequest();
      }
      if (queue.inflight.size === 0 || !queue.isConnected()) stopChecking(queue);
    },
    Math.min(queue.requestTimeout, CHECK_EVERY_MS),
  );
}

function stopChecking(queue: RequestQueue): void {
  clearInterval(queue.requestTimeoutIntervalId);
  queue.requestTimeoutIntervalId = undefined;
}
