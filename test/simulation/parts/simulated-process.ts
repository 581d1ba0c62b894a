import type { ErrorCode } from '../../../src/errors.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import type { CollectionRunner } from '../../../src/timetable/collection-runner.ts';
import { TenantRun } from '../../../src/worker/tenant-run.ts';
import type { TenantSession } from '../../../src/session/open-session.ts';
import type { Tenant } from '../../../src/table/tenant.ts';

/** A process that mirrors the tenant, until it is stopped or ends by itself. */
export class SimulatedProcess {
  readonly number: number;
  /** Resolves however it ends. */
  readonly ended: Promise<void>;
  readonly #stopping = new AbortController();
  readonly #mirrored: TenantRun;
  #fate: 'running' | 'stopped' | ErrorCode = 'running';

  constructor(number: number, parts: Tenant) {
    this.number = number;
    this.#mirrored = new TenantRun(parts);
    this.ended = this.#run();
  }

  /** `stopped` if the history stopped it, or the error that it ended with. */
  get fate(): 'running' | 'stopped' | ErrorCode {
    return this.#fate;
  }

  /** Null while it does not own the tenant. */
  get session(): TenantSession | null {
    return this.#mirrored.session;
  }

  /** Throws where it does not own the tenant. */
  runner(collection: CollectionName): CollectionRunner {
    const runner = this.session?.runners.get(collection);
    if (runner === undefined) throw new Error(`the last process does not own the tenant: ${this.#fate}`);
    return runner;
  }

  stop(): void {
    this.#stopping.abort(new Error('stopped'));
  }

  async #run(): Promise<void> {
    try {
      this.#fate = (await this.#mirrored.mirror(this.#stopping.signal))?.code ?? 'stopped';
    } catch {
      this.#fate = 'INTERNAL';
    }
  }
}
