import { expect, inject, vi } from 'vitest';
import { startRollcall, type RollcallProcess } from '../../integration/pipeline/rollcall-process.ts';
import { differences } from '../../integration/support/hub-oracle.ts';
import { configTextOf, newTopicPrefix, startTestHub } from '../../integration/support/mirror.ts';
import { readTopicsAt } from '../../integration/support/read-topics.ts';
import type { StackAddresses } from '../../integration/support/stack.ts';
import { allProblems } from './checker.ts';
import { recordHistory } from './hub-history.ts';
import { endsSoon } from './survive.ts';

const SETTLES_WITHIN_MS = 240_000;
const CHANGE_EVERY_MS = 100;
/** Evidence of so many tenants is read at a time. */
const CHECKED_AT_ONCE = 4;
/** A pause before the first transaction of a tenant that another living worker had, and what Kafka and its clients need. */
const HANDED_OVER_MS = 1_250;
/** For each tenant that one worker opens after the others, on a busy machine. */
const OPENED_WITHIN_MS = 600;
const TIMES_SLOWER = 3;

interface Worker {
  readonly process: RollcallProcess;
  /** When it said what is assigned to it, and how many tenants it said last. */
  readonly assignedAtMs: number[];
  assigned: number;
  /** From then on it mirrors nothing: it was killed, stopped, or told to end. */
  goneAtMs: number;
  readTo: number;
}

/** A worker began to mirror a tenant. */
interface Opening {
  readonly worker: Worker;
  readonly atMs: number;
}

/** What one change of the group brought about. */
export interface Moves {
  /** Tenants with another owner than before. */
  readonly moved: number;
  /** Take-overs of all workers meanwhile. */
  readonly starts: number;
  /** The longest time that a tenant had no owner. */
  readonly longestUnownedMs: number;
}

export interface TenantWorkersOptions {
  readonly tenants: number;
  readonly deltaEvery: string;
  readonly sessionMs: number;
  /** Default: the stack of the tests. */
  readonly servers?: StackAddresses;
  readonly replicationFactor?: number;
  readonly topicPrefix?: string;
}

/** Real processes that share many tenants of one small hub, with what their logs say about who owned which tenant when. */
export async function startTenantWorkers(options: TenantWorkersOptions) {
  const hub = await startTestHub({ students: 12 });
  return new TenantWorkers(hub, options);
}

type Hub = Awaited<ReturnType<typeof startTestHub>>;

export class TenantWorkers {
  readonly topicPrefix: string;
  readonly #tenants: readonly string[];
  readonly #hub: Hub;
  readonly #history: ReturnType<typeof recordHistory>;
  readonly #options: TenantWorkersOptions;
  readonly #servers: StackAddresses;
  readonly #workers: Worker[] = [];
  /** Of each tenant, oldest first. */
  readonly #openings: ReadonlyMap<string, Opening[]>;
  #change: NodeJS.Timeout;
  #changes = 0;

  constructor(hub: Hub, options: TenantWorkersOptions) {
    this.#hub = hub;
    this.#options = options;
    this.#servers = options.servers ?? inject('stack');
    this.topicPrefix = options.topicPrefix ?? newTopicPrefix();
    this.#tenants = Array.from({ length: options.tenants }, (_, at) => `t${String(at).padStart(3, '0')}`);
    this.#openings = new Map(this.#tenants.map((tenant) => [tenant, []]));
    this.#history = recordHistory(hub, ['users']);
    this.#change = this.#changing();
  }

  /** Those that were not killed, stopped or told to end, oldest first. */
  get living(): RollcallProcess[] {
    return this.#living.map(({ process }) => process);
  }

  get #living(): Worker[] {
    return this.#workers.filter(({ goneAtMs }) => goneAtMs === Infinity);
  }

  /** How many tenants each living worker mirrors. */
  loads(): number[] {
    const owners = this.#tenants.map((tenant) => this.#owner(tenant));
    return this.#living.map((worker) => owners.filter((owner) => owner === worker).length);
  }

  async start(): Promise<RollcallProcess> {
    const process = await startRollcall(['run'], this.#configText());
    this.#workers.push({ process, assignedAtMs: [], assigned: 0, goneAtMs: Infinity, readTo: 0 });
    return process;
  }

  /** SIGKILL, SIGSTOP or SIGTERM; SIGCONT makes it one of the living again. */
  signal(process: RollcallProcess, signal: NodeJS.Signals): void {
    for (const worker of this.#workers)
      if (worker.process === process) worker.goneAtMs = signal === 'SIGCONT' ? Infinity : Date.now();
    process.kill(signal);
  }

  /** What the change brings about, until each tenant is mirrored and they are evenly shared. */
  async moves(what: string, change: () => Promise<unknown>): Promise<Moves> {
    this.#read();
    const before = new Map(this.#tenants.map((tenant) => [tenant, this.#owner(tenant)]));
    const startedAtMs = Date.now();
    await change();
    await vi.waitFor(() => this.#expectShared(), { timeout: SETTLES_WITHIN_MS, interval: 100 });
    const openings = [...this.#openings.values()];
    const moves = {
      moved: this.#tenants.filter((tenant) => before.get(tenant) !== this.#owner(tenant)).length,
      starts: openings.flat().filter(({ atMs }) => atMs >= startedAtMs).length,
      longestUnownedMs: Math.max(0, ...openings.flatMap((own) => unownedMs(own, startedAtMs))),
    };
    const tookMs = Date.now() - startedAtMs;
    console.info(`${what}: ${tookMs} ms, ${JSON.stringify(moves)}`);
    return moves;
  }

  /** How long a tenant may be without an owner, on a slow machine; `sessions`: that must end before others take over. */
  unownedAtMostMs(sessions: number): number {
    const { sessionMs, tenants } = this.#options;
    const noticedMs = sessions * sessionMs + sessionMs / 5 + HANDED_OVER_MS;
    return TIMES_SLOWER * noticedMs + (tenants / this.#living.length) * OPENED_WITHIN_MS;
  }

  /** The hub rests, all topics become equal to it, all workers end with 0, and nothing was published twice. */
  async expectAllWell(): Promise<void> {
    await this.expectEqual();
    clearInterval(this.#change);
    await Promise.all(this.living.map((process) => endWorker(this, process)));
    const waiting = [...this.#tenants];
    const check = async (): Promise<void> => {
      for (let tenantId = waiting.pop(); tenantId !== undefined; tenantId = waiting.pop()) {
        const { topicPrefix } = this;
        const tenant = {
          hub: this.#hub,
          history: this.#history,
          topicPrefix,
          tenantId,
          servers: this.#servers,
        };
        expect([tenantId, await allProblems(tenant)]).toEqual([tenantId, []]);
      }
    };
    await Promise.all(Array.from({ length: CHECKED_AT_ONCE }, check));
  }

  /** While the hub rests, the topics of all tenants become equal to it. */
  async expectEqual(): Promise<void> {
    clearInterval(this.#change);
    this.#changeOne();
    const topics = this.#tenants.map((tenant) => `${this.topicPrefix}.${tenant}.users`);
    await vi.waitFor(
      async () => {
        const byTopic = Map.groupBy(await readTopicsAt(this.#servers, topics), ({ topic }) => topic);
        for (const topic of topics) {
          const records = byTopic.get(topic) ?? [];
          expect(differences({ hub: this.#hub, collection: 'users', records })).toEqual([]);
        }
      },
      { timeout: SETTLES_WITHIN_MS, interval: 1_000 },
    );
    this.#change = this.#changing();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#change);
    for (const { process } of this.#workers) await process[Symbol.asyncDispose]();
    await this.#hub.stop();
  }

  #changing(): NodeJS.Timeout {
    return setInterval(() => this.#changeOne(), CHANGE_EVERY_MS);
  }

  #changeOne(): void {
    const ids = this.#hub.district.ids('users');
    this.#changes += 1;
    const id = ids[this.#changes % ids.length] ?? '';
    this.#hub.district.patch('users', id, { givenName: `Name ${this.#changes}` });
    this.#history.note('users');
  }

  #configText(): string {
    const { deltaEvery, sessionMs, replicationFactor = 1 } = this.#options;
    const { kafkaBrokers: brokers, registryUrl, redisUrl } = this.#servers;
    const text = configTextOf(this.#hub, this.topicPrefix, {
      collections: ['users'],
      tenant: { deltaEvery },
      settings: {
        kafka: { brokers, replicationFactor, session: `${sessionMs}ms`, partitions: 1 },
        registry: { url: registryUrl },
        redis: { url: redisUrl, keyPrefix: this.topicPrefix },
      },
    });
    const config = JSON.parse(text) as { tenants: [object] };
    return JSON.stringify({ ...config, tenants: this.#tenants.map((id) => ({ ...config.tenants[0], id })) });
  }

  #owner(tenant: string): Worker | undefined {
    return this.#openings.get(tenant)?.at(-1)?.worker;
  }

  #expectShared(): void {
    this.#read();
    const loads = this.loads();
    expect(loads).toEqual(this.#living.map(({ assigned }) => assigned));
    expect(loads.reduce((sum, load) => sum + load, 0)).toBe(this.#tenants.length);
    expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(1);
  }

  /** Takes in the lines since the last time. */
  #read(): void {
    for (const worker of this.#workers) {
      const output = worker.process.output();
      const end = output.lastIndexOf('\n') + 1;
      for (const line of output.slice(worker.readTo, end).split('\n')) this.#readLine(worker, line);
      worker.readTo = end;
    }
    for (const openings of this.#openings.values()) openings.sort((one, other) => one.atMs - other.atMs);
  }

  #readLine(worker: Worker, line: string): void {
    const isMirroring = line.includes('"mirroring"');
    if (!isMirroring && !line.includes('assigned to this process')) return;
    const { time, tenant, tenants } = JSON.parse(line) as { time: string; tenant: string; tenants: number };
    const atMs = Date.parse(time);
    if (isMirroring) this.#openings.get(tenant)?.push({ worker, atMs });
    else {
      worker.assignedAtMs.push(atMs);
      worker.assigned = tenants;
    }
  }
}

/** How long a tenant had no owner before each opening since that time. */
function unownedMs(openings: readonly Opening[], sinceMs: number): number[] {
  return openings.map(({ worker, atMs }, at) => {
    const before = openings[at - 1];
    if (before === undefined || before.worker === worker || atMs < sinceMs) return 0;
    // The one before stopped it with its own end, or with an assignment.
    const { goneAtMs, assignedAtMs } = before.worker;
    const isGone = goneAtMs <= atMs;
    const stoppedAtMs = isGone
      ? goneAtMs
      : assignedAtMs.findLast((each) => each >= before.atMs && each <= atMs);
    return atMs - (stoppedAtMs ?? atMs);
  });
}

/** SIGTERM, and its end with 0. */
export async function endWorker(workers: TenantWorkers, process: RollcallProcess): Promise<void> {
  workers.signal(process, 'SIGTERM');
  await endsSoon(process, 0);
}
