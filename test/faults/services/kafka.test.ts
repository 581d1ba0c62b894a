import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { findInPath } from '../../../stack/java-tools.ts';
import { runCommand } from '../../../stack/run-command.ts';
import { readEnds } from '../../integration/support/read-ends.ts';
import { openMirror } from '../../integration/support/mirror.ts';
import { IS_FULL, ROUNDS } from '../../run/rounds.ts';
import { allProblems, readEvidence } from '../support/checker.ts';
import { networkFault, strikeEach, type Fault } from '../support/faults.ts';
import { startOwnKafka } from '../support/kafka.ts';
import { WHENS } from '../support/kafka-network.ts';
import { troubledTenant, type TroubledTenant } from '../support/tenant.ts';

const APIS = ['produce', 'endTxn'] as const;
/** Whether the broker has acted on a send or a commit; its answer is lost either way. */
const ALL_MOMENTS = APIS.flatMap((api) => WHENS.map((when) => ({ api, when })));
const MOMENTS = IS_FULL ? ALL_MOMENTS : ALL_MOMENTS.slice(-1);
/** Longer than Rollcall waits for an answer: the broker acts on the request after Rollcall has given it up. */
const HELD_MS = 20_000;
const ASKED_MS = 60_000;
const GRANTED_MS = 4_000;

const kafka = await startOwnKafka();
afterAll(() => kafka[Symbol.asyncDispose]());

/** Asks Kafka for a shorter time-out than Rollcall does, so that no test has to wait for a minute. */
function shortenTimeout(request: Buffer): void {
  const asked = Buffer.alloc(4);
  asked.writeInt32BE(ASKED_MS);
  const at = request.indexOf(asked);
  if (at === -1) throw new Error('the request holds no time-out of the expected length');
  request.writeInt32BE(GRANTED_MS, at);
}

/** Waits until Kafka has aborted the hanging transaction: then nothing lies beyond the last stable offset. */
async function aborted({ topics }: TroubledTenant): Promise<void> {
  const startedAtMs = performance.now();
  await vi.waitFor(async () => {
    const { committed, written } = await readEnds(kafka.brokers, topics);
    expect(written).toEqual(committed);
  });
  // Otherwise no transaction hung.
  expect(performance.now() - startedAtMs).toBeGreaterThan(GRANTED_MS / 2);
}

const FULL_DISK: Fault = {
  name: 'the disk of a broker was full',
  async strike(tenant) {
    const [broker] = kafka.services;
    // No file may grow beyond the largest one of the topics (setrlimit(2), RLIMIT_FSIZE), until the broker restarts.
    const limit = `--fsize=${await kafka.largestLogBytes(tenant.topicPrefix)}`;
    const { code, output } = await runCommand('prlimit', ['--pid', String(broker.pid), limit]);
    expect([code, output]).toEqual([0, '']);
    // It ends when the only folder of its logs fails.
    await vi.waitUntil(() => !broker.isRunning());
    await tenant.flows();
    await kafka.areBack(0);
  },
};

const FAULTS: readonly Fault[] = [
  {
    name: 'the broker of a send or a commit was killed',
    isBrief: true,
    async strike(tenant) {
      for (const { api, when } of MOMENTS) {
        const broker = await kafka.network.at(api, when, kafka.kill);
        await tenant.flows();
        await kafka.areBack(broker);
        await tenant.ready();
      }
    },
  },
  {
    name: 'all brokers were killed amid a commit',
    async strike(tenant) {
      const all = [...kafka.services.keys()];
      await kafka.network.at('endTxn', 'sent', () => all.map(kafka.kill));
      await tenant.notReady('kafka');
      await kafka.areBack(...all);
    },
  },
  {
    name: 'Rollcall was killed amid a send or a commit',
    isBrief: true,
    async strike(tenant) {
      for (const { api, when } of MOMENTS) {
        const { child } = tenant;
        await kafka.network.at(api, when, () => child.kill('SIGKILL'));
        await child.endsWith('SIGKILL');
        tenant.start();
        await tenant.ready();
      }
    },
  },
  {
    name: 'the broker of a send and a commit hung',
    async strike(tenant) {
      for (const api of APIS) {
        const broker = await kafka.network.at(api, 'sent', (at) => kafka.services[at]?.kill('SIGSTOP'));
        const held = delay(HELD_MS);
        await tenant.flows();
        await held;
        kafka.services[broker]?.kill('SIGCONT');
        await kafka.inSync();
        await tenant.ready();
      }
    },
  },
  {
    name: 'transactions outlived their time-out',
    async strike(tenant) {
      kafka.network.rewrite('initProducerId', shortenTimeout);
      tenant.child.kill('SIGTERM');
      await tenant.child.endsWith(0);
      const child = tenant.start();
      await tenant.ready();
      await kafka.network.at('endTxn', 'sent', () => aborted(tenant));
      await child.says('KAFKA_OUTCOME_UNKNOWN');
      await tenant.ready();
      await kafka.network.at('produce', 'answered', () => child.kill('SIGSTOP'));
      await aborted(tenant);
      child.kill('SIGCONT');
      kafka.network.rewrite('initProducerId', () => undefined);
    },
  },
  ...(findInPath('prlimit') === undefined ? [] : [FULL_DISK]),
  networkFault('kafka', () => kafka.network),
];

strikeEach(FAULTS, (strike) => strike({ kafka }));

describe.each(ROUNDS)('round %i', (seed) => {
  it.each(MOMENTS)(
    'a process paused when $api was $when commits nothing after a take-over',
    async ({ api, when }) => {
      // So long that only Kafka tells the woken process.
      await using tenant = await troubledTenant({ seed, kafka, kafkaSettings: { session: '1m' } });
      const older = tenant.start();
      await tenant.begun();
      {
        using _ = tenant.churn.live();
        await kafka.network.at(api, when, () => older.kill('SIGSTOP'));
      }
      const { hub, topicPrefix } = tenant;
      await using newer = await openMirror({ ...tenant.mirrored, hub, topicPrefix });
      await newer.full();
      const sizes = async (): Promise<Record<string, number>> =>
        Object.fromEntries([...(await readEvidence(tenant))].map(([name, { length }]) => [name, length]));
      const before = await sizes();
      older.kill('SIGCONT');
      await older.says('Another process has taken over tenant north', 60_000);
      // It would try again after some seconds, since the newer one of this test has no heartbeat.
      older.kill('SIGTERM');
      await older.endsWith(0);
      expect(await sizes()).toEqual(before);
      tenant.churn.step(20);
      await newer.full();
      expect(await allProblems(tenant)).toEqual([]);
    },
  );
});
