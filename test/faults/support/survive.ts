import { expect } from 'vitest';
import { deleteTopicsOf } from '../../integration/pipeline/kafka-admin.ts';
import { flushRedis } from '../../integration/pipeline/redis-copy.ts';
import {
  startRollcall,
  startScript,
  type RollcallProcess,
} from '../../integration/pipeline/rollcall-process.ts';
import {
  configTextOf,
  newTopicPrefix,
  openMirror,
  startTestHub,
  type Mirror,
  type MirrorOptions,
} from '../../integration/support/mirror.ts';
import { allProblems, healed, wronglyPublished, type CheckedTenant, type CheckOptions } from './checker.ts';
import { startChurn, type Churn } from './churn.ts';
import { demandFull } from './demand.ts';
import type { KillPoint } from './points.ts';
import { CHURNED_OPTIONS } from './tenants.ts';

const MORTAL = new URL('mortal-main.ts', import.meta.url);
const CHANGE_EVERY_MS = 30;
/** The limit is generous because other tests may use the machine meanwhile. */
const COMES_WITHIN_MS = 180_000;
const HEALS_WITHIN_MS = 180_000;

/** A hub that changes, and the topics that a tenant of it is mirrored to. */
export interface ChurnedTenant extends AsyncDisposable, CheckedTenant {
  readonly churn: Churn;
  readonly configText: string;
  /** Starts like a new process, but within this one: recovers, and is the owner until it is closed. */
  next(): Promise<Mirror>;
  /** Starts a process that stops with SIGSTOP when it reaches a point for the nth time, while the hub changes. */
  stoppedAt(point: KillPoint, nth: number): Promise<RollcallProcess>;
  /** Starts a process that is killed when it reaches a point for the nth time, while the hub changes. */
  dieAt(point: KillPoint, nth: number, options?: DyingOptions): Promise<void>;
}

export interface DyingOptions {
  /** The hub does not change meanwhile. */
  readonly atRest?: boolean | undefined;
  /** The process only approves the withheld deletions of `users`. */
  readonly decision?: 'approve' | undefined;
}

export interface ChurnedTenantOptions extends MirrorOptions {
  /** Collections of rows that change and are compared; default: {@link CHURNED}. */
  readonly rows?: readonly string[] | undefined;
  /** Servers other than those of the stack. */
  readonly servers?: CheckedTenant['servers'];
}

export async function churnedTenant(
  seed: number,
  { rows, servers, ...options }: ChurnedTenantOptions = {},
): Promise<ChurnedTenant> {
  const hub = await startTestHub();
  const topicPrefix = newTopicPrefix();
  const churn = startChurn({ hub, seed, collections: rows });
  const mirrored = { ...CHURNED_OPTIONS, ...(rows === undefined ? {} : { collections: rows }), ...options };
  const configText = configTextOf(hub, topicPrefix, mirrored);
  return {
    hub,
    churn,
    history: churn.history,
    topicPrefix,
    servers,
    configText,
    next: () => openMirror({ ...mirrored, hub, topicPrefix }),
    async dieAt(point, nth, { atRest = false, decision = '' } = {}) {
      using _ = atRest ? null : churn.live(CHANGE_EVERY_MS);
      const args = [point, String(nth), 'SIGKILL', decision];
      await using child = await startScript(MORTAL, { configText, args });
      await endsSoon(child, 'SIGKILL', point);
    },
    async stoppedAt(point, nth) {
      using _ = churn.live(CHANGE_EVERY_MS);
      const child = await startScript(MORTAL, { configText, args: [point, String(nth), 'SIGSTOP'] });
      try {
        await child.says('at the point', COMES_WITHIN_MS);
      } catch (error) {
        await child[Symbol.asyncDispose]();
        throw error;
      }
      return child;
    },
    async [Symbol.asyncDispose]() {
      await hub.stop();
      await deleteTopicsOf(topicPrefix);
      await flushRedis(topicPrefix);
    },
  };
}

/** Settings of a guard that few removals trip. */
export const WATCHFUL = {
  settings: { deletions: { withholdAbove: { rows: 4, ratio: 0.001 }, confirmAfter: '1s' } },
};

/** Removes that many users from the hub; returns their rows. */
export function usersLeave({ hub, history }: ChurnedTenant, count: number) {
  const ids = hub.district.ids('users').slice(0, count);
  const rows = ids.map((id) => hub.district.get('users', id) ?? {});
  for (const id of ids) hub.district.remove('users', id);
  history.note();
  return rows;
}

/** Fails as soon as the time is over, not when the time of the test is, and says what did not come. */
export async function endsSoon(
  child: RollcallProcess,
  expected: number | NodeJS.Signals,
  what = 'its end',
): Promise<void> {
  const late = AbortSignal.timeout(COMES_WITHIN_MS);
  const tooLate = new Promise<never>((_, reject) => {
    late.addEventListener('abort', () => reject(new Error(`no sign of ${what}:\n${child.output()}`)));
  });
  await Promise.race([child.endsWith(expected), tooLate]);
}

/** Expects that a new process recovers and then has nothing more to publish. */
export async function expectHealed(tenant: ChurnedTenant, options: CheckOptions = {}): Promise<void> {
  await using mirror = await tenant.next();
  await mirror.full();
  expect(await allProblems(tenant, options)).toEqual([]);
  const ends = await mirror.ends();
  await mirror.full();
  expect(await mirror.since(ends)).toEqual([]);
}

/** Expects that a real new process recovers by itself within a bound. */
export async function expectHealsRunning(tenant: ChurnedTenant, options: CheckOptions = {}): Promise<void> {
  await using child = await startRollcall(['run'], tenant.configText);
  await expectHealsBy(child, tenant, options);
  child.kill('SIGTERM');
  await endsSoon(child, 0);
  expect(await allProblems(tenant, options)).toEqual([]);
}

/** Expects the same of a process that runs already and stays. */
export async function expectHealsBy(
  child: RollcallProcess,
  tenant: ChurnedTenant,
  options: CheckOptions = {},
): Promise<void> {
  try {
    await demandFull(tenant.topicPrefix, { withinMs: HEALS_WITHIN_MS });
    const evidence = await healed(tenant, HEALS_WITHIN_MS);
    expect(wronglyPublished(tenant, evidence, options)).toEqual([]);
  } catch (error) {
    const said = child.output().split('\n').slice(-30).join('\n');
    throw new Error(`${String(error)}\nThe process said last:\n${said}`, { cause: error });
  }
}

/** Expects recovery from a kill at a point of the first load, and at the same point of a later process. */
export async function expectSurvives(
  point: KillPoint,
  options: { seed: number; nth: number },
): Promise<void> {
  await using tenant = await churnedTenant(options.seed);
  await tenant.dieAt(point, options.nth);
  await expectHealed(tenant);
  tenant.churn.step(20);
  await tenant.dieAt(point, options.nth);
  await expectHealed(tenant);
}
