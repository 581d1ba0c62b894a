import { expect, inject, vi } from 'vitest';
import type { ReferenceHub } from '../../../../reference-hub/start-reference-hub.ts';
import { deleteTopicsOf } from '../../../integration/pipeline/kafka-admin.ts';
import { startRollcall, type RollcallProcess } from '../../../integration/pipeline/rollcall-process.ts';
import { configTextOf, newTopicPrefix, startTestHub } from '../../../integration/support/mirror.ts';
import type { StackAddresses } from '../../../integration/support/stack.ts';
import { allProblems, healed } from '../../support/checker.ts';
import { startChurn, type Churn } from '../../support/churn.ts';
import { demandFull } from '../../support/demand.ts';
import { CHURNED_OPTIONS } from '../../support/tenants.ts';

/** The addresses that Rollcall uses in place of those of the services themselves. */
export interface Detours {
  /** `host:port` each */
  readonly hub?: string | undefined;
  readonly kafka?: readonly string[] | undefined;
  readonly registry?: string | undefined;
  readonly redis?: string | undefined;
}

export interface MirroredOptions {
  readonly seed: number;
  /** Services other than the shared ones, by the addresses that the checks use. */
  readonly servers?: Partial<StackAddresses> | undefined;
  readonly detours?: Detours | undefined;
  /** A hub that runs already; it is stopped with the rest. */
  readonly hub?: ReferenceHub | undefined;
  /** How long the hub may take for an answer, as in the configuration. */
  readonly hubTimeout?: string | undefined;
}

/** A real `rollcall run` on a churning hub, and everything that is needed to check it. */
export interface Mirrored extends AsyncDisposable {
  readonly hub: ReferenceHub;
  readonly churn: Churn;
  readonly topicPrefix: string;
  readonly configText: string;
  /** The newest process. */
  readonly child: RollcallProcess;
  /** Starts a process, or another one where one runs already. */
  start(): Promise<RollcallProcess>;
  /** Waits until faults may strike: with an odd seed after the first load, with others during it. */
  begun(): Promise<void>;
  /** Waits until `/readyz` says 200 and every collection has been read in full once. */
  loaded(): Promise<void>;
  ready(): Promise<void>;
  /** Waits until `/readyz` says 503 for that part. */
  notReady(part: string): Promise<void>;
  /** Waits until another transaction is committed: on a hub that changes, this shows that changes get through. */
  flows(child?: RollcallProcess): Promise<void>;
  /**
   * Checks the recovery, without help and with a hub at rest: Rollcall becomes ready, full syncs end well, the topics equal the
   * hub, it stops in good order, and it has published nothing that the history of the hub does not account for.
   */
  heals(): Promise<void>;
}

/** The limit is generous because other tests may use the machine meanwhile. */
const COMES_WITHIN_MS = 180_000;
const MOST_SHOWN = 4_000;

export async function startMirrored(options: MirroredOptions): Promise<Mirrored> {
  const hub = options.hub ?? (await startTestHub({ seed: options.seed }));
  const mirrored = new RunningMirrored(hub, options);
  try {
    await mirrored.start();
  } catch (error) {
    await mirrored[Symbol.asyncDispose]();
    throw error;
  }
  return mirrored;
}

class RunningMirrored implements Mirrored {
  readonly hub: ReferenceHub;
  readonly churn: Churn;
  readonly topicPrefix = newTopicPrefix();
  readonly configText: string;
  readonly #seed: number;
  readonly #servers: StackAddresses;
  readonly #children: RollcallProcess[] = [];

  constructor(hub: ReferenceHub, options: MirroredOptions) {
    this.hub = hub;
    this.#seed = options.seed;
    this.churn = startChurn({ hub, seed: options.seed });
    this.#servers = { ...inject('stack'), ...options.servers };
    this.configText = this.#configText(options);
  }

  #configText(options: MirroredOptions): string {
    const detours = options.detours ?? {};
    const { kafkaBrokers, registryUrl, redisUrl } = this.#servers;
    const redis = { url: via(redisUrl, detours.redis), keyPrefix: this.topicPrefix };
    return configTextOf(this.hub, this.topicPrefix, {
      ...CHURNED_OPTIONS,
      hubSettings: {
        ...CHURNED_OPTIONS.hubSettings,
        baseUrl: via(this.hub.baseUrl, detours.hub),
        tokenUrl: via(this.hub.tokenUrl, detours.hub),
        ...(options.hubTimeout === undefined ? {} : { requestTimeout: options.hubTimeout }),
      },
      settings: {
        ...CHURNED_OPTIONS.settings,
        kafka: { ...CHURNED_OPTIONS.settings.kafka, brokers: detours.kafka ?? kafkaBrokers },
        registry: { url: via(registryUrl, detours.registry) },
        redis,
      },
    });
  }

  get child(): RollcallProcess {
    const child = this.#children.at(-1);
    if (child === undefined) throw new Error('no process was started');
    return child;
  }

  async start(): Promise<RollcallProcess> {
    const child = await startRollcall(['run'], this.configText);
    this.#children.push(child);
    return child;
  }

  async begun(): Promise<void> {
    if (this.#seed % 2 === 1) await this.loaded();
    else await this.child.says('"mirroring"');
  }

  async loaded(): Promise<void> {
    await this.ready();
    await vi.waitFor(
      () => {
        for (const collection of this.churn.history.collections)
          expect(this.child.output()).toMatch(
            new RegExp(`"collection":"${collection}".*"outcome":"complete"`),
          );
      },
      { timeout: COMES_WITHIN_MS, interval: 100 },
    );
  }

  async ready(): Promise<void> {
    await this.#readiness(200, '');
  }

  async notReady(part: string): Promise<void> {
    await this.#readiness(503, `"part":"${part}"`);
  }

  async #readiness(status: number, text: string): Promise<void> {
    await vi.waitFor(
      async () => {
        const readiness = await this.child.readiness().catch(() => null);
        if (readiness?.status === status && readiness.text.includes(text)) return;
        throw this.#unexpected(`not ${status} ${text}, but ${readiness?.status} ${readiness?.text}`);
      },
      { timeout: COMES_WITHIN_MS, interval: 100 },
    );
  }

  #unexpected(what: string): Error {
    return new Error(`${what}; the process said:\n${this.child.output().slice(-MOST_SHOWN)}`);
  }

  async flows(child = this.child): Promise<void> {
    const before = await committedBy(child);
    await vi.waitFor(
      async () => {
        const now = await committedBy(child);
        if (before === null || now === null || now <= before) throw this.#unexpected('nothing is committed');
      },
      { timeout: COMES_WITHIN_MS, interval: 100 },
    );
  }

  async heals(): Promise<void> {
    await this.ready();
    await demandFull(this.topicPrefix, { withinMs: COMES_WITHIN_MS, redisUrl: this.#servers.redisUrl });
    const tenant = {
      hub: this.hub,
      history: this.churn.history,
      topicPrefix: this.topicPrefix,
      servers: this.#servers,
    };
    await healed(tenant, COMES_WITHIN_MS);
    const { child } = this;
    child.kill('SIGTERM');
    await child.endsWith(0);
    expect(child.output()).not.toMatch(/^\s+at /m);
    expect(await allProblems(tenant)).toEqual([]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) await child[Symbol.asyncDispose]();
    await this.hub.stop();
    if (this.#servers.kafkaBrokers === inject('stack').kafkaBrokers) await deleteTopicsOf(this.topicPrefix);
  }
}

/** Transactions of a process so far; null while it serves no metrics. */
async function committedBy(child: RollcallProcess): Promise<number | null> {
  const port = /"port":(\d+)/.exec(child.output())?.[1];
  if (port === undefined) return null;
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  const count = /^rollcall_transactions_total\{[^}]*outcome="committed"\} (\d+)/m.exec(await response.text());
  return Number(count?.[1] ?? 0);
}

function via(address: string, detour: string | undefined): string {
  if (detour === undefined) return address;
  const url = new URL(address);
  url.host = detour;
  return url.href.replace(/\/$/, '');
}
