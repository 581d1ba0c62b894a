import { randomUUID } from 'node:crypto';
import { expect, inject, vi } from 'vitest';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { DERIVED_COLLECTIONS } from '../../../src/model/collections.ts';
import { sleep } from '../../../src/runtime.ts';
import { askOwner } from '../../../src/state/ask-owner.ts';
import type { RedisServers } from '../../../src/state/redis-client.ts';
import { createRedisStore } from '../../../src/state/redis-store.ts';
import {
  configTextOf,
  newTopicPrefix,
  startTestHub,
  type MirrorOptions,
} from '../../integration/support/mirror.ts';
import { deleteTopicsOf } from '../../integration/support/stack-kafka.ts';
import { startNode, startProcess, type RollcallProcess } from '../../integration/support/running.ts';
import type { StackAddresses } from '../../integration/support/stack.ts';
import { allProblems, healed, wronglyPublished, type CheckedTenant, type CheckOptions } from './checker.ts';
import { Churn, CHURNED } from './churn.ts';
import type { OwnKafka } from './kafka.ts';
import { startProxy, via, type Proxy } from './proxy.ts';

export interface TenantOptions {
  /** Odd: faults strike after the first load; even: during it. */
  readonly seed: number;
  /** In place of those of the stack. */
  readonly kafka?: OwnKafka | undefined;
  readonly redis?: RedisServers | undefined;
  /** Collections of rows that change and are compared; default: {@link CHURNED}, with what is derived from them. */
  readonly rows?: readonly string[] | undefined;
  /** Collections that are mirrored besides. */
  readonly besides?: readonly string[] | undefined;
  readonly hubSettings?: MirrorOptions['hubSettings'];
  readonly kafkaSettings?: object | undefined;
}

/** The limit is generous because other tests may use the machine meanwhile. */
const COMES_WITHIN_MS = 180_000;
const MOST_SHOWN = 4_000;

/** A hub that changes, the real processes that mirror it through proxies, and what is needed to check them. */
export class TroubledTenant implements CheckedTenant, AsyncDisposable {
  readonly topicPrefix = newTopicPrefix();
  readonly hub: ReferenceHub;
  readonly churn: Churn;
  readonly servers: StackAddresses;
  readonly redis: RedisServers;
  /** Between Rollcall and the parts. */
  readonly proxies: Readonly<Record<'hub' | 'registry' | 'redis', Proxy>>;
  /** About one transaction a page; removals are intended, the guard has tests of its own. */
  readonly mirrored: MirrorOptions;
  /** The newest process, unless a test chose another one. */
  child!: RollcallProcess;
  readonly #seed: number;
  readonly #children: RollcallProcess[] = [];

  constructor(hub: ReferenceHub, proxies: TroubledTenant['proxies'], options: TenantOptions) {
    const { seed, kafka, redis, rows = CHURNED } = options;
    const stack = inject('stack');
    const replicationFactor =
      kafka === undefined ? stack.replicationFactor : Math.min(kafka.brokers.length, 3);
    this.#seed = seed;
    this.hub = hub;
    this.proxies = proxies;
    this.churn = new Churn(hub, { seed, collections: rows });
    this.servers = {
      kafkaBrokers: kafka?.brokers ?? stack.kafkaBrokers,
      registryUrl: stack.registryUrl,
      redisUrl: stack.redisUrl,
      replicationFactor,
    };
    const { url, sentinel, cluster, tls: ssl }: RedisServers = redis ?? { url: stack.redisUrl };
    this.redis = { url, sentinel, cluster, tls: ssl };
    // Sentinels and nodes of a Cluster name the addresses of others.
    const isOne = !url.includes(',');
    const brokers = kafka?.network.proxies.map(({ address }) => address) ?? stack.kafkaBrokers;
    const derived = rows.includes('absence-versions') ? DERIVED_COLLECTIONS : [];
    this.mirrored = {
      collections: [...rows, ...derived, ...(options.besides ?? [])],
      tenant: { incrementalEvery: '1s' },
      hubSettings: {
        pageSize: 50,
        baseUrl: via(hub.baseUrl, proxies.hub),
        tokenUrl: via(hub.tokenUrl, proxies.hub),
        ...options.hubSettings,
      },
      settings: {
        deletions: { holdAbove: { rows: 1_000_000, ratio: 1 }, confirmAfter: '1s' },
        // A process that follows a killed one waits so long for it.
        kafka: { session: '6s', brokers, replicationFactor, ...options.kafkaSettings },
        registry: { url: via(stack.registryUrl, proxies.registry) },
        redis: {
          url: isOne ? via(url, proxies.redis) : url,
          sentinel,
          cluster,
          ssl,
          keyPrefix: this.topicPrefix,
        },
      },
    };
  }

  get history(): Churn['history'] {
    return this.churn.history;
  }

  get topics(): string[] {
    const suffixes = [...(this.mirrored.collections as string[]), 'rejects', 'progress'];
    return suffixes.map((suffix) => this.topic(suffix));
  }

  topic(suffix: string): string {
    return `${this.topicPrefix}.north.${suffix}`;
  }

  /** Starts `rollcall run`, or a script of the tests with these arguments, whether or not one runs already. */
  start(script?: string, ...args: readonly string[]): RollcallProcess {
    const config = configTextOf(this.hub, this.topicPrefix, this.mirrored);
    this.child =
      script === undefined
        ? startProcess(config, 'run')
        : startNode(config, (path) => [script, path, ...args]);
    this.#children.push(this.child);
    return this.child;
  }

  /** Waits until faults may strike. */
  async begun(): Promise<void> {
    if (this.#seed % 2 === 1) await this.loaded();
    else await this.child.says('"mirroring"');
  }

  /** Waits until `/readyz` says 200 and every collection has been read in full once. */
  async loaded(): Promise<void> {
    await this.ready();
    for (const collection of this.history.collections) {
      const complete = new RegExp(`"collection":"${collection}".*"outcome":"complete"`);
      await this.#comes(async () => complete.test(this.child.output()), `${collection} complete`);
    }
  }

  ready(): Promise<void> {
    return this.#comes(async () => (await this.child.get('/readyz')).status === 200, 'ready');
  }

  /** Waits until `/readyz` says 503 for that part. */
  notReady(part: string): Promise<void> {
    const isAway = async (): Promise<boolean> => {
      const response = await this.child.get('/readyz');
      return response.status === 503 && (await response.text()).includes(`"part":"${part}"`);
    };
    return this.#comes(isAway, `not ready for ${part}`);
  }

  /** Waits until another transaction is committed: on a hub that changes, this shows that changes get through. */
  async flows(child = this.child): Promise<void> {
    let before: number | null = null;
    const isMore = async (): Promise<boolean> => {
      const metrics = await (await child.get('/metrics')).text();
      const now = Number(
        /^rollcall_transactions_total\{[^}]*outcome="committed"\} (\d+)/m.exec(metrics)?.[1] ?? 0,
      );
      before ??= now;
      return now > before;
    };
    await this.#comes(isMore, 'a commit');
  }

  async #comes(isThere: () => Promise<boolean>, what: string): Promise<void> {
    await vi.waitFor(
      async () => {
        if (await isThere().catch(() => false)) return;
        throw new Error(`no ${what}; the process said:\n${this.child.output().slice(-MOST_SHOWN)}`);
      },
      { timeout: COMES_WITHIN_MS, interval: 100 },
    );
  }

  /** On a hub at rest, without help: a full sync ends well, the topics equal the hub, and nothing was published wrongly. */
  async heals(options: CheckOptions = {}): Promise<void> {
    try {
      await this.pullFull(COMES_WITHIN_MS);
      const evidence = await healed(this, COMES_WITHIN_MS);
      expect(wronglyPublished(this, evidence, options)).toEqual([]);
    } catch (error) {
      const said = this.child.output().slice(-MOST_SHOWN);
      throw new Error(`${String(error)}\nThe process said last:\n${said}`, { cause: error });
    }
  }

  /** The newest process ends in good order; then nothing is wrong, in the index neither. */
  async endsWell(options: CheckOptions = {}): Promise<void> {
    const { child } = this;
    child.kill('SIGTERM');
    await child.endsWith(0);
    expect(child.output()).not.toMatch(/^\s+at /m);
    expect(await allProblems(this, options)).toEqual([]);
  }

  /** Another process does all of that. */
  async nextHeals(options: CheckOptions = {}): Promise<void> {
    this.start();
    await this.heals(options);
    await this.endsWell(options);
  }

  /**
   * Makes the owner run a full sync, as `rollcall pull --full` does, however often a fault interrupts it: only that finds rows
   * that have left. Throws the error of the last attempt.
   */
  async pullFull(withinMs: number): Promise<void> {
    const { topicPrefix } = this;
    const store = createRedisStore({
      ...this.redis,
      keyPrefix: `${topicPrefix}:${topicPrefix}`,
    });
    const signal = AbortSignal.timeout(withinMs);
    const parameters = { collections: [], full: true, acceptNew: false };
    try {
      for (;;) {
        try {
          const outcome = await askOwner({
            coordination: store.coordination,
            tenantId: 'north',
            request: { id: randomUUID(), kind: 'pull', parameters },
            signal,
            sleep,
            now: () => performance.now(),
            pollIntervalMs: 100,
          });
          const results = outcome.state === 'done' ? (outcome.result as { outcome: string }[]) : [];
          if (results.length > 0 && results.every((each) => each.outcome === 'complete')) return;
          throw new Error(`the pull failed: ${JSON.stringify(outcome)}`);
        } catch (error) {
          if (signal.aborted) throw error;
          await sleep(200, new AbortController().signal);
        }
      }
    } finally {
      await store.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) await child[Symbol.asyncDispose]();
    await this.hub.stop();
    for (const proxy of Object.values(this.proxies)) await proxy[Symbol.asyncDispose]();
    await deleteTopicsOf(this.topicPrefix, this.servers.kafkaBrokers);
  }
}

/** No process is started yet. */
export async function troubledTenant(options: TenantOptions): Promise<TroubledTenant> {
  const { registryUrl, redisUrl } = inject('stack');
  const hub = await startTestHub({ seed: options.seed, students: 30 });
  const proxies = {
    hub: await startProxy(`127.0.0.1:${hub.port}`),
    registry: await startProxy(new URL(registryUrl).host),
    redis: await startProxy(new URL(options.redis?.url.split(',')[0] ?? redisUrl).host),
  };
  return new TroubledTenant(hub, proxies, options);
}
