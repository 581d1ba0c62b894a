import type { SimulatedProcess } from './simulated-process.ts';
import type { Surroundings } from './surroundings.ts';

/** A history in which each process takes over from the last. */
export interface TakenOver {
  readonly at: Surroundings;
  readonly processes: readonly SimulatedProcess[];
  start(): SimulatedProcess;
  /** Lets the process run for a while. */
  watch(process: SimulatedProcess, forMs: number): Promise<void>;
  /** The troubles between two take-overs. */
  disturb(): void;
  /** Whether a newer process owns the tenant and this one can know it. */
  isSuperseded(number: number): boolean;
  readonly noticedWithinMs: number;
}

/** Lets processes supersede each other for a time, until all have ended. Returns the numbers of those that did not notice it. */
export async function takeOvers(history: TakenOver, forMs: number): Promise<readonly number[]> {
  const { at, processes } = history;
  const { random, time } = at;
  const untilMs = time.now() + forMs;
  while (time.now() < untilMs) {
    const process = history.start();
    await history.watch(process, Math.min(untilMs - time.now(), 60 + random.below(300)));
    if (random.chance(0.3)) {
      process.stop();
      if (random.chance(0.5)) await process.ended;
    }
    history.disturb();
  }
  at.trouble = 0;
  // A superseded process learns of it from its next transaction. After failures, its own next sync may be minutes away.
  for (const { session } of processes)
    for (const runner of session?.runners.values() ?? []) runner.request('FULL').catch(() => undefined);
  const unnoticed = (): number[] =>
    processes
      .filter(({ number, fate }) => fate === 'running' && history.isSuperseded(number))
      .map(({ number }) => number);
  await time.until(history.noticedWithinMs, () => unnoticed().length === 0);
  const never = unnoticed();
  for (const process of processes) process.stop();
  await Promise.all(processes.map(({ ended }) => ended));
  return never;
}
