import { handOverStop } from './early-stop.mjs';

/** The part of `process` that delivers signals. */
export interface SignalSource {
  on(name: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  off(name: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
}

export interface StopSignal extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * SIGTERM and SIGINT as an AbortSignal: the first signal aborts it, a second calls `second`. From then on the listeners of
 * early-stop.mjs, which end a process at once that has not begun its work, do nothing.
 */
export function listenForStop(
  source: SignalSource,
  on: { first?: (() => void) | undefined; second: () => void },
): StopSignal {
  const controller = new AbortController();
  const listener = () => {
    if (controller.signal.aborted) {
      on.second();
      return;
    }
    controller.abort();
    on.first?.();
  };
  source.on('SIGINT', listener);
  source.on('SIGTERM', listener);
  handOverStop();
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      source.off('SIGINT', listener);
      source.off('SIGTERM', listener);
    },
  };
}
