import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { deleteTopicsOf } from '../../integration/pipeline/kafka-admin.ts';
import type { RollcallProcess } from '../../integration/pipeline/rollcall-process.ts';
import { endWorker, startTenantWorkers, type Moves, type TenantWorkers } from '../support/tenant-workers.ts';

const TENANTS = 200;
const SESSION_MS = 6_000;
const ASLEEP_MS = 120_000;
const STORM_STEP_MS = 1_000;

/** Three processes, and a fourth now and then. */
const AFTER_A_JOIN = Math.floor(TENANTS / 3);

let workers: TenantWorkers;

beforeAll(async () => {
  workers = await startTenantWorkers({ tenants: TENANTS, deltaEvery: '20s', sessionMs: SESSION_MS });
});
afterAll(async () => {
  await workers[Symbol.asyncDispose]();
  await deleteTopicsOf(workers.topicPrefix);
});

/** The oldest of the living, and how many tenants it mirrors. */
function oldest(): { readonly process: RollcallProcess; readonly load: number } {
  const [[process, load = 0] = []] = workers.living.map((each, at) => [each, workers.loads()[at]] as const);
  if (process === undefined) throw new Error('no worker is left');
  return { process, load };
}

function expectUnowned({ longestUnownedMs }: Moves, sessions: number): void {
  expect(longestUnownedMs).toBeLessThanOrEqual(workers.unownedAtMostMs(sessions));
}

async function joins(what: string): Promise<void> {
  const moves = await workers.moves(what, () => workers.start());
  expect(moves.moved).toBe(Math.floor(TENANTS / workers.living.length));
  expectUnowned(moves, 0);
}

describe(`three processes that share ${TENANTS} tenants`, () => {
  it('give each one that joins its part, and move nothing else', async () => {
    await workers.moves('the first starts', () => workers.start());
    await joins('the second joins');
    await joins('the third joins');
  });

  it('take over what a killed one had, and nothing else moves', async () => {
    const { process, load } = oldest();
    const moves = await workers.moves('kill -9 of one', async () => workers.signal(process, 'SIGKILL'));
    expect(moves.moved).toBe(load);
    expectUnowned(moves, 1);
    await joins('another one joins');
  });

  it('take over what a stopped one had, and woken it commits nothing, stops its tenants and joins again', async () => {
    const { process, load } = oldest();
    const moves = await workers.moves('SIGSTOP of one', async () => {
      workers.signal(process, 'SIGSTOP');
      await delay(ASLEEP_MS);
    });
    expect(moves.moved).toBe(load);
    expectUnowned(moves, 1);
    const woken = await workers.moves('SIGCONT of it', async () => workers.signal(process, 'SIGCONT'));
    expect(woken.moved).toBe(AFTER_A_JOIN);
    expect(process.output()).toContain('Kafka has not confirmed the membership of this process');
  });

  it('give what one of them has to the others when it ends, and nothing else moves', async () => {
    const { process, load } = oldest();
    const left = await workers.moves('SIGTERM of one', () => endWorker(workers, process));
    expect(left.moved).toBe(load);
    expectUnowned(left, 0);
    await joins('another one joins');
  });

  it('are replaced by those of another revision, and each tenant moves once', async () => {
    vi.stubEnv('ROLLCALL_REVISION', 'two');
    let starts = 0;
    for (const process of workers.living) {
      const load = workers.loads()[workers.living.indexOf(process)];
      const replaced = await workers.moves('one is replaced', async () => {
        const successor = await workers.start();
        await successor.says('no tenant is assigned to this process');
        await endWorker(workers, process);
      });
      expect(replaced.moved).toBe(load);
      expectUnowned(replaced, 0);
      starts += replaced.starts;
    }
    expect(starts).toBe(TENANTS);
  });

  it('serve all tenants again after five joins and leaves within some seconds', async () => {
    const storm = await workers.moves('a storm', async () => {
      const ending: Promise<void>[] = [];
      for (const step of [
        'join',
        'leave',
        'join',
        'join',
        'leave',
        'join',
        'leave',
        'join',
        'leave',
        'leave',
      ]) {
        if (step === 'join') await workers.start();
        else ending.push(endWorker(workers, oldest().process));
        await delay(STORM_STEP_MS);
      }
      await Promise.all(ending);
    });
    // One that ends before it is told its part is missed only after a session.
    expectUnowned(storm, 2);
  });

  it('have published each change of the hub to every tenant, and nothing twice', async () => {
    await workers.expectAllWell();
  });
});
