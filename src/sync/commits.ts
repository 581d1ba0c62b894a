import { TURNS_UNTIL_SENT } from '../hub/scan.ts';
import type { Runtime } from '../runtime.ts';
import type { RunningSync } from './sync.ts';

/**
 * Commits staged changes while the next page is on its way: when `everyMs` have passed since the last commit. If
 * `everyMs` is 0, it commits whenever the next page has not arrived yet. In a sync of many short scans, this would give
 * each scan a small transaction of its own.
 */
export class Commits {
  readonly #run: RunningSync;
  readonly #everyMs: number;
  #lastMs: number;

  constructor(run: RunningSync, everyMs: number) {
    this.#run = run;
    this.#everyMs = everyMs;
    this.#lastMs = run.own.tenant.runtime.now();
  }

  async now(): Promise<void> {
    const { own, sync } = this.#run;
    await own.writer.flush(sync);
    this.#lastMs = own.tenant.runtime.now();
  }

  /** Commits what becomes due until the next page, or the end of the scan, has arrived. */
  async until(next: Promise<unknown>): Promise<void> {
    const { own, options } = this.#run;
    next.catch(() => undefined);
    while (own.writer.hasPending && !options.signal.aborted) {
      const restMs = this.#lastMs + this.#everyMs - own.tenant.runtime.now();
      const isDue = restMs <= 0;
      if ((!isDue || this.#everyMs === 0) && (await this.#arrives(next, restMs))) return;
      if (isDue) await this.now();
    }
  }

  /** Whether the next page, or the end of the scan, arrives within this time; with no time, whether it has arrived already. */
  async #arrives(next: Promise<unknown>, withinMs: number): Promise<boolean> {
    const { runtime } = this.#run.own.tenant;
    const arrived = next.then(
      () => true,
      () => true,
    );
    if (withinMs <= 0) return Promise.race([arrived, turnsOfLoop(runtime).then(() => false)]);
    const ending = new AbortController();
    const late = runtime.sleep(withinMs, ending.signal).catch(() => undefined);
    try {
      return await Promise.race([arrived, late.then(() => false)]);
    } finally {
      ending.abort();
    }
  }
}

/**
 * Waits for some turns of the event loop. Even a page that has arrived already takes this many turns until the sync gets
 * it, because its scan first sends the request for the next page.
 */
async function turnsOfLoop({ turn }: Pick<Runtime, 'turn'>): Promise<void> {
  for (let turns = 0; turns <= TURNS_UNTIL_SENT; turns += 1) await turn();
}
