import { TURNS_UNTIL_SENT } from '../hub/scan.ts';
import type { Runtime } from '../runtime.ts';
import type { RunningSync } from './sync.ts';

/**
 * Commits what is staged while the next page is on its way: at once, if the page has not arrived yet. Many short
 * scans would each end in a small transaction of their own; for them it commits after `everyMs` at the latest.
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

/** This is how long a page takes that has arrived already, because its scan first sends the request for the page after it. */
async function turnsOfLoop({ turn }: Pick<Runtime, 'turn'>): Promise<void> {
  for (let turns = 0; turns <= TURNS_UNTIL_SENT; turns += 1) await turn();
}
