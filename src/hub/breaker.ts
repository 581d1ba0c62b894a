import {
  BrokenCircuitError,
  circuitBreaker,
  ConsecutiveBreaker,
  DelegateBackoff,
  handleWhen,
} from 'cockatiel';
import { pauseMs, type Backoff } from '../backoff.ts';
import type { HubEvent } from '../core/hub-events.ts';
import { HubError, isHubTrouble } from './hub-error.ts';

/** The pauses: how long the circuit stays open, by the number of failed trials. */
export interface BreakerPolicy extends Backoff {
  /** This many failures in a row, over all requests to the hub, open the circuit. */
  readonly failures: number;
}

export const DEFAULT_BREAKER_POLICY: BreakerPolicy = { failures: 10, firstMs: 5_000, longestMs: 60_000 };

export type CircuitEvent = Extract<HubEvent, { readonly type: `circuit-${string}` }>;

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
  onEvent: (event: CircuitEvent) => void;
}): Breaker {
  const { policy, hub, onEvent } = options;
  let openUntilMs = 0;
  const circuit = circuitBreaker(handleWhen(isHubTrouble), {
    breaker: new ConsecutiveBreaker(policy.failures),
    halfOpenAfter: new DelegateBackoff(({ attempt }) => {
      const openMs = pauseMs(policy, attempt);
      openUntilMs = Date.now() + openMs;
      if (attempt === 1) onEvent({ type: 'circuit-opened', retryInMs: openMs });
      return openMs;
    }),
  });
  circuit.onReset(() => onEvent({ type: 'circuit-closed' }));

  return async (work) => {
    try {
      return await circuit.execute(work);
    } catch (error) {
      if (!(error instanceof BrokenCircuitError)) throw error;
      const { error: trouble } = circuit.lastFailure as { readonly error: HubError };
      const retryInMs = Math.max(0, openUntilMs - Date.now());
      throw new HubError(
        'HUB_CIRCUIT_OPEN',
        `${hub} failed too often in a row, the last time with ${trouble.code}: ${trouble.message}`,
        {
          // The text is still shown when the circuit is closed again, so it names no time.
          remedy: `${ASKS_AGAIN} ${trouble.remedy}`,
          retryAfterMs: retryInMs,
          retryable: false,
        },
      );
    }
  };
}
