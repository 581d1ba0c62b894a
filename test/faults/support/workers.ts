import { expect, inject, vi } from 'vitest';
import { configTextOf, newTopicPrefix, startTestHub } from '../../integration/support/mirror.ts';
import { deleteTopicsOf } from '../../integration/support/stack-kafka.ts';
import { startProcess, type RollcallProcess } from '../../integration/support/running.ts';
import { allProblems, healed, type CheckedTenant } from './checker.ts';
import { recordHistory } from '../../oracle/history.ts';
import type { OwnKafka } from './kafka.ts';

export interface WorkersOptions {
  readonly tenants: number;
  readonly incrementalEvery: string;
  readonly sessionMs: number;
  /** Default: that of the stack. */
  readonly kafka?: OwnKafka | undefined;
}

const CHANGE_EVERY_MS = 100;
const EQUAL_WITHIN_MS = 240_000;
/** A pause before the first transaction of a tenant that another living worker had, and what Kafka and its clients need. */
const HANDED_OVER_MS = 1_250;
/** For each tenant that one worker opens after the others. On a machine at a load of 28, three brokers took 1.6 s. */
const OPENED_WITHIN_MS = 2_500;
const STARTS_WITHIN_MS = 20_000;
const TIMES_SLOWER = 3;

/** Real processes that share many tenants of one small hub. The hub changes until they are checked. */
export class Workers implements AsyncDisposable {
  /** Those that were not killed, stopped or asked to end, oldest first. */
  readonly living: RollcallProcess[] = [];
  readonly #all: RollcallProcess[] = [];
  readonly #options: WorkersOptions;
  readonly #tenants: readonly (CheckedTenant & { readonly tenantId: string })[];
  readonly #parts: {
    readonly hub: CheckedTenant['hub'];
    readonly topicPrefix: string;
    readonly kafkaBrokers: string[];
  };
  readonly #configText: string;
  readonly #changing: NodeJS.Timeout;
  #isResting = false;

  static async start(options: WorkersOptions): Promise<Workers> {
    return new Workers(await startTestHub({ students: 12 }), options);
  }

  private constructor(hub: CheckedTenant['hub'], options: WorkersOptions) {
    this.#options = options;
    const { tenants, incrementalEvery, sessionMs, kafka } = options;
    const topicPrefix = newTopicPrefix();
    const stack = inject('stack');
    const servers = { ...stack, kafkaBrokers: kafka?.brokers ?? stack.kafkaBrokers };
    this.#parts = { hub, topicPrefix, kafkaBrokers: servers.kafkaBrokers };
    const history = recordHistory(hub, ['users']);
    const ids = Array.from({ length: tenants }, (_, at) => `t${String(at).padStart(3, '0')}`);
    this.#tenants = ids.map((tenantId) => ({ hub, history, topicPrefix, tenantId, servers }));
    const kafkaSettings = { brokers: servers.kafkaBrokers, session: `${sessionMs}ms`, partitions: 1 };
    const mirrored = {
      collections: ['users'],
      tenant: { incrementalEvery },
      settings: { kafka: kafkaSettings },
    };
    this.#configText = configTextOf(hub, topicPrefix, mirrored, ids);
    const users = hub.district.ids('users');
    let changes = 0;
    this.#changing = setInterval(() => {
      if (this.#isResting) return;
      changes += 1;
      hub.district.patch('users', users[changes % users.length] ?? '', { givenName: `Name ${changes}` });
      history.note('users');
    }, CHANGE_EVERY_MS);
  }

  /** The oldest of the living, which is not one of them any more. */
  takeOldest(): RollcallProcess {
    const oldest = this.living.shift();
    if (oldest === undefined) throw new Error('no worker is left');
    return oldest;
  }

  async start(): Promise<RollcallProcess> {
    const process = startProcess(this.#configText, 'run');
    this.#all.push(process);
    this.living.push(process);
    return process;
  }

  async end(process = this.takeOldest()): Promise<void> {
    process.kill('SIGTERM');
    await process.endsWith(0);
  }

  /**
   * How many tenants have another owner after a change than before. Each has one within the time promised, and the living share
   * them evenly; `sessions`: that must end before others take over.
   */
  async moved(change: () => Promise<unknown>, sessions = 0): Promise<number> {
    const before = this.#owners();
    await change();
    const { sessionMs, tenants } = this.#options;
    const noticedMs = sessions * sessionMs + sessionMs / 5 + HANDED_OVER_MS;
    const openedMs = (tenants / this.living.length) * OPENED_WITHIN_MS;
    const timeout = STARTS_WITHIN_MS + TIMES_SLOWER * noticedMs + openedMs;
    const after = await vi.waitFor(() => this.#shared(), { timeout, interval: 500 });
    return [...after].filter(([tenant, owner]) => owner !== before.get(tenant)).length;
  }

  #shared(): Map<string, RollcallProcess> {
    const owners = this.#owners();
    const loads = this.living.map((each) => [...owners.values()].filter((owner) => owner === each).length);
    expect(loads).toEqual(this.living.map(assignedTo));
    expect(loads.reduce((sum, load) => sum + load, 0)).toBe(this.#tenants.length);
    expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(1);
    return owners;
  }

  /** By tenant, the process that began last to mirror it. */
  #owners(): Map<string, RollcallProcess> {
    const openings = this.#all.flatMap((process) =>
      [...process.output().matchAll(/^.*"mirroring".*$/gm)].map(([line]) => {
        const { time, tenant } = JSON.parse(line) as { time: string; tenant: string };
        return { time, tenant, process };
      }),
    );
    openings.sort((one, other) => Date.parse(one.time) - Date.parse(other.time));
    return new Map(openings.map(({ tenant, process }) => [tenant, process]));
  }

  /** While the hub rests, the topics of all tenants become equal to it. */
  async expectEqual(): Promise<void> {
    this.#isResting = true;
    for (const tenant of this.#tenants) await healed(tenant, EQUAL_WITHIN_MS);
    this.#isResting = false;
  }

  /** The hub rests for good, all workers end with 0, and nothing was lost or published twice. */
  async expectAllWell(): Promise<void> {
    clearInterval(this.#changing);
    await this.expectEqual();
    await Promise.all(this.living.splice(0).map((process) => this.end(process)));
    for (const tenant of this.#tenants)
      expect([tenant.tenantId, await allProblems(tenant)]).toEqual([tenant.tenantId, []]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#changing);
    for (const process of this.#all) await process[Symbol.asyncDispose]();
    const { hub, topicPrefix, kafkaBrokers } = this.#parts;
    await hub.stop();
    await deleteTopicsOf(topicPrefix, kafkaBrokers);
  }
}

/** The number of tenants that were assigned to it last. */
function assignedTo(process: RollcallProcess): number {
  const line = [...process.output().matchAll(/^.*assigned to this process.*$/gm)].at(-1)?.[0] ?? '{}';
  return (JSON.parse(line) as { tenants?: number }).tenants ?? 0;
}
