import type { Difference } from '../core/verify/difference.ts';
import type { VerifyTools } from './verify-tools.ts';

/** Differences that remain after this many checks are reported. */
const ATTEMPTS = 3;
/** The markers of a commit can be written somewhat after its answer. */
const BETWEEN_ATTEMPTS_MS = 1_000;

/**
 * Checks differences again, because hub and topic were read at different times, until none is left that no sync removes.
 * Each check reads the hub first, then the index and the progress, and then the topic to its new end, which thus contains
 * all that a sync has committed by then. `check` returns the differences that remain.
 */
export async function confirm(
  { parts }: Pick<VerifyTools, 'parts'>,
  options: {
    readonly hasAny: boolean;
    readonly check: () => Promise<readonly Difference[]>;
    readonly signal: AbortSignal;
  },
): Promise<readonly Difference[]> {
  if (!options.hasAny) return [];
  for (let attempt = 1; ; attempt += 1) {
    const differences = await options.check();
    if (attempt === ATTEMPTS || differences.every(({ state }) => state !== 'wrong')) return differences;
    await parts.runtime.sleep(BETWEEN_ATTEMPTS_MS, options.signal);
  }
}
