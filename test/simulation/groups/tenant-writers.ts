import { jitteredPauseMs } from '../../../src/retry-policy.ts';
import type { SeededRandom } from '../parts/seeded-random.ts';
import type { VirtualTime } from '../parts/virtual-time.ts';

const LONGEST_OPENING_MS = 400;
const LONGEST_TRANSACTION_MS = 800;
/** As in worker.ts: after a failure, and after another process took the tenant over. */
const AFTER_FAILURE_MS = 1_000;
const SUPERSEDED = { firstMs: 5_000, longestMs: 300_000 };

/** The process that mirrors a tenant. */
interface Writer {
  readonly name: string;
  readonly isConnected: boolean;
  /** On the worker's own clock, which stands still while it is frozen. */
  readonly sleep: (ms: number) => Promise<void>;
}

/** Who began last, and who committed last, and when. */
interface Tenancy {
  epoch: number;
  committedEpoch: number;
  owner: string;
  committedAtMs: number;
}

/** One transactional producer for each tenant and worker: who begins fences all before. A model of what the histories of a tenant play in full. */
export class TenantWriters {
  readonly #time: VirtualTime;
  readonly #random: SeededRandom;
  readonly #isUnfenced: boolean;
  readonly #problems: Set<string>;
  readonly #tenants = new Map<string, Tenancy>();
  fenced = 0;

  constructor(time: VirtualTime, random: SeededRandom, problems: Set<string>, isUnfenced: boolean) {
    this.#time = time;
    this.#random = random;
    this.#problems = problems;
    this.#isUnfenced = isUnfenced;
  }

  lastOf(tenant: string): Tenancy {
    const of = this.#tenants.get(tenant) ?? { epoch: 0, committedEpoch: 0, owner: '', committedAtMs: 0 };
    this.#tenants.set(tenant, of);
    return of;
  }

  /** Writes until the signal aborts: transaction after transaction, and a new take-over when one fails. */
  async write(tenant: string, worker: Writer, firstPauseMs: number, signal: AbortSignal): Promise<void> {
    const of = this.lastOf(tenant);
    let pauseMs = firstPauseMs;
    for (let losses = 0, own = 0; ;) {
      await worker.sleep(pauseMs + this.#random.below(LONGEST_OPENING_MS));
      if (signal.aborted) return;
      pauseMs = AFTER_FAILURE_MS;
      if (own > 0 && of.epoch !== own) {
        losses += 1;
        own = 0;
        pauseMs = jitteredPauseMs(SUPERSEDED, losses, () => this.#random.next());
        continue;
      }
      if (!worker.isConnected) continue;
      of.epoch += 1;
      own = of.epoch;
      while (await this.#commits(of, own, worker, signal));
    }
  }

  async #commits(of: Tenancy, own: number, worker: Writer, signal: AbortSignal): Promise<boolean> {
    await worker.sleep(this.#random.below(LONGEST_TRANSACTION_MS));
    if (signal.aborted || !worker.isConnected) return false;
    if (of.epoch !== own && !this.#isUnfenced) {
      this.fenced += 1;
      return false;
    }
    if (own < of.committedEpoch) this.#problems.add('commits after a newer writer of the tenant');
    of.committedEpoch = own;
    of.committedAtMs = this.#time.now();
    of.owner = worker.name;
    return true;
  }
}
