import { RollcallError, type ErrorCode } from '../../../src/errors.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { VirtualTime } from './virtual-time.ts';

/** What all simulated parts of a history share. */
export interface Surroundings {
  readonly time: VirtualTime;
  readonly random: SeededRandom;
  /** 1: everything fails as often as its part says; 0: never. */
  trouble: number;
}

/** Whether a call fails now; none does once the trouble is over. */
export function strikes({ random, trouble }: Surroundings, probability: number): boolean {
  return trouble > 0 && random.chance(probability * trouble);
}

const AT_ONCE = Promise.resolve();

/** Waits up to that many ms. */
export function dawdle({ time, random }: Surroundings, mostMs: number): Promise<void> {
  const ms = random.below(mostMs + 1);
  return ms === 0 ? AT_ONCE : time.sleep(ms);
}

export function simulatedError(code: ErrorCode): RollcallError {
  return new RollcallError(code, `simulated ${code}`, { remedy: 'None: it is a test.' });
}
