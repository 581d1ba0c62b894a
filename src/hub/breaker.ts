import { BrokenCircuitError, circuitBreaker, ConsecutiveBreaker, handleWhen } from 'cockatiel';
import type { HubEvent } from './events.ts';
import { HubError, isHubTrouble } from './hub-error.ts';

export interface BreakerPolicy {
  /** Failures in a row, over all requests to the hub, that open the circuit. */
  readonly failures: number;
  /** How long it stays open the first time; doubled with every failed trial, up to {@link maxOpenMs}. */
  readonly openMs: number;
  readonly maxOpenMs: number;
}

export const DEFAULT_BREAKER_POLICY: BreakerPolicy = { failures: 10, openMs: 5_000, maxOpenMs: 60_000 };

/** Spares a hub in trouble: after so many failures in a row nothing is sent but one trial now and then. */
export interface Breaker {
  /** Throws HUB_CIRCUIT_OPEN instead of running `work` while the circuit is open. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** Works by the machine's clock (cockatiel's choice). `hub` names the hub in errors. */
export function createBreaker(options: {
  policy: BreakerPolicy;
  hub: string;
  onEvent: (event: HubEvent) => void;
}): Breaker {
  const { policy, hub, onEvent } = options;
  let openUntilMs = 0;
  let lastTrouble: HubError | null = null;
  const openFor = (durationMs: number) => {
    openUntilMs = Date.now() + durationMs;
    return {
      duration: durationMs,
      next: () => openFor(Math.min(policy.maxOpenMs, durationMs * 2)),
    };
  };
  const circuit = circuitBreaker(handleWhen(isHubTrouble), {
    breaker: new ConsecutiveBreaker(policy.failures),
    halfOpenAfter: { next: () => openFor(policy.openMs) },
  });
  circuit.onBreak(() =>
    onEvent({ type: 'circuit-opened', retryInMs: Math.max(0, openUntilMs - Date.now()) }),
  );
  circuit.onReset(() => onEvent({ type: 'circuit-closed' }));

  return {
    async run(work) {
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
          `${hub} failed too often in a row, the last time so: ${lastTrouble?.message ?? 'unknown'}`,
          {
            // who keeps running tries by itself, who runs once does not: this is true of both
            remedy:
              `Nothing is sent to it for ${Math.ceil(retryInMs / 1000)} s. ${lastTrouble?.remedy ?? ''}`.trim(),
            retryAfterMs: retryInMs,
          },
        );
      }
    },
  };
}
