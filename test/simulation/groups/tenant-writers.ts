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

interface Tenancy {
  epoch: number;
  owner: string;
  /** When its owner committed last, and of which epoch that was. */
  committedAtMs: number;
  committedEpoch: number;
  readonly writers: Map<number, string>;
}

/** One transactional producer for each tenant and worker: who begins fences all before. A model of what the histories of a tenant play in full. */
export class TenantWriters {
  readonly #time: VirtualTime;
  readonly #random: SeededRandom;
  readonly #isUnfenced: boolean;
  readonly #problems: Set<string>;
  readonly #tenants = new Map<string, Tenancy>();
  fenced = 0;

  constructor(options: {
    time: VirtualTime;
    random: SeededRandom;
    problems: Set<string>;
    isUnfenced: boolean;
  }) {
    this.#time = options.time;
    this.#random = options.random;
    this.#problems = options.problems;
    this.#isUnfenced = options.isUnfenced;
  }

  /** Who committed last to a tenant, and when. */
  lastOf(tenant: string): { readonly owner: string; readonly committedAtMs: number } {
    return this.#of(tenant);
  }

  /** Writes until the signal aborts: transaction after transaction, and a new take-over when one fails. */
  async write(options: {
    tenant: string;
    worker: Writer;
    pauseMs: number;
    signal: AbortSignal;
  }): Promise<void> {
    const { tenant, worker, signal } = options;
    let { pauseMs } = options;
    const of = this.#of(tenant);
    for (let losses = 0, own = 0; ;) {
      await worker.sleep(pauseMs + this.#random.below(LONGEST_OPENING_MS));
      if (signal.aborted) return;
      const isSuperseded = own > 0 && of.epoch !== own;
      if (isSuperseded || !worker.isConnected) {
        if (isSuperseded) {
          losses += 1;
          own = 0;
        }
        pauseMs = isSuperseded
          ? jitteredPauseMs(SUPERSEDED, losses, () => this.#random.next())
          : AFTER_FAILURE_MS;
        continue;
      }
      of.epoch += 1;
      own = of.epoch;
      of.owner = worker.name;
      of.writers.set(own, worker.name);
      await this.#commitWhileOwned({ of, own, worker, signal });
      pauseMs = AFTER_FAILURE_MS;
    }
  }

  async #commitWhileOwned(options: { of: Tenancy; own: number; worker: Writer; signal: AbortSignal }) {
    const { of, own, worker, signal } = options;
    for (;;) {
      await worker.sleep(this.#random.below(LONGEST_TRANSACTION_MS));
      if (signal.aborted || !worker.isConnected) return;
      if (of.epoch !== own && !this.#isUnfenced) {
        this.fenced += 1;
        return;
      }
      if (own < of.committedEpoch) this.#problems.add('commits after a newer writer of the tenant');
      if (of.writers.get(own) !== worker.name) this.#problems.add('two writers in one epoch');
      of.committedEpoch = own;
      of.committedAtMs = this.#time.now();
      of.owner = worker.name;
    }
  }

  #of(tenant: string): Tenancy {
    const known = this.#tenants.get(tenant);
    if (known !== undefined) return known;
    const of = {
      epoch: 0,
      owner: '',
      committedAtMs: 0,
      committedEpoch: 0,
      writers: new Map<number, string>(),
    };
    this.#tenants.set(tenant, of);
    return of;
  }
}
