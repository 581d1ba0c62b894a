import { BrokenCircuitError, circuitBreaker, ConsecutiveBreaker, handleWhen } from 'cockatiel';
import { pauseMs } from '../backoff.ts';
import type { HubEvent } from '../core/hub-events.ts';
import { HubError, isHubTrouble } from './hub-error.ts';

export interface BreakerPolicy {
  /** This many failures in a row, over all requests to the hub, open the circuit. */
  readonly failures: number;
  /** How long it stays open the first time; every failed trial doubles it, up to {@link maxOpenMs}. */
  readonly openMs: number;
  readonly maxOpenMs: number;
}

export const DEFAULT_BREAKER_POLICY: BreakerPolicy = { failures: 10, openMs: 5_000, maxOpenMs: 60_000 };

const ASKS_AGAIN =
  '"rollcall run" asks the hub again by itself; repeat any other command when the hub answers.';

/**
 * Spares a failing hub: after a number of failures in a row, only an occasional trial request is sent. Throws HUB_CIRCUIT_OPEN
 * instead of running `work` while the circuit is open.
 */
export type Breaker = <T>(work: () => Promise<T>) => Promise<T>;

/** Reads the machine's clock, because cockatiel does. `hub` names the hub in errors. */
export function createBreaker(options: {
  policy: BreakerPolicy;
  hub: string;
  onEvent: (event: HubEvent) => void;
}): Breaker {
  const { policy, hub, onEvent } = options;
  let openUntilMs = 0;
  let lastTrouble: HubError | null = null;
  const openAfter = (failedTrials: number) => {
    const duration = pauseMs({ firstMs: policy.openMs, longestMs: policy.maxOpenMs }, failedTrials + 1);
    openUntilMs = Date.now() + duration;
    if (failedTrials === 0) onEvent({ type: 'circuit-opened', retryInMs: duration });
    return { duration, next: () => openAfter(failedTrials + 1) };
  };
  const circuit = circuitBreaker(handleWhen(isHubTrouble), {
    breaker: new ConsecutiveBreaker(policy.failures),
    halfOpenAfter: { next: () => openAfter(0) },
  });
  circuit.onReset(() => onEvent({ type: 'circuit-closed' }));

  return async (work) => {
    try {
      return await circuit.execute(work);
    } catch (error) {
      if (!(error instanceof BrokenCircuitError)) {
        if (error instanceof HubError && isHubTrouble(error)) lastTrouble = error;
        throw error;
      }
      const retryInMs = Math.max(0, openUntilMs - Date.now());
      throw new HubError(
        'HUB_CIRCUIT_OPEN',
        `${hub} failed too often in a row, the last time with ${lastTrouble?.code ?? 'an unknown error'}: ${lastTrouble?.message ?? ''}`,
        {
          // The text is still shown when the circuit is closed again, so it names no time.
          remedy: `${ASKS_AGAIN} ${lastTrouble?.remedy ?? ''}`.trim(),
          retryAfterMs: retryInMs,
        },
      );
    }
  };
}
