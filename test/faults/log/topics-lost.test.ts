import { describe, expect, it } from 'vitest';
import {
  deleteTopic,
  readTopics,
  recreateTopic,
  truncateTopic,
  withAdmin,
} from '../../integration/support/stack-kafka.ts';
import { flushRedis } from '../../integration/pipeline/redis-copy.ts';
import { IS_FULL, ROUNDS } from '../../run/rounds.ts';
import { troubledTenant } from '../support/tenant.ts';

const WAYS: Readonly<Record<string, (topic: string) => Promise<void>>> = {
  'deleted and recreated': recreateTopic,
  emptied: (topic) => truncateTopic(topic),
  'cut off at the front': async (topic) => {
    const offsets = await withAdmin((admin) => admin.fetchTopicOffsets(topic));
    await truncateTopic(topic, String(Math.min(...offsets.map(({ high }) => Math.ceil(Number(high) / 2)))));
  },
  deleted: deleteTopic,
};

type Loss = readonly [topic: string, how: string];

/** Rows, rejects, progress. Where `absences` or `absence-changes` is lost, a person decides. */
const KINDS = ['users', 'rejects', 'progress'];
const IN_TURN = KINDS.map((topic, at): Loss => [topic, Object.keys(WAYS)[at] ?? '']);
/** Rejects have too few records to be cut in the middle. */
const ALONE = [...KINDS, 'absence-versions']
  .flatMap((topic) => Object.keys(WAYS).map((how): Loss => [topic, how]))
  .filter((loss) => loss.join(' ') !== 'rejects cut off at the front');
const RUNNING = (IS_FULL ? ALONE.map((loss) => [loss]) : [IN_TURN]).map((losses) => ({
  losses,
  process: 'running',
}));
const STOPPED = IS_FULL ? ALONE.map((loss) => ({ losses: [loss], process: 'stopped' })) : [];

describe.each(ROUNDS)('round %i', (seed) => {
  it.each([...RUNNING, ...STOPPED])(
    'a topic lost while a process is $process is filled again, and no other one changes (case %$)',
    async ({ losses, process }) => {
      await using tenant = await troubledTenant({ seed, besides: ['orgs'] });
      // An unreadable row, so that the rejects have something to lose. Its collection is not compared.
      tenant.hub.district.put('orgs', { sourcedId: 42 }, { id: 'unreadable' });
      const lost: string[] = [];
      tenant.start();
      await tenant.heals();
      for (const [topic, how] of losses) {
        if (process === 'stopped') await tenant.endsWell({ lost });
        await WAYS[how]?.(tenant.topic(topic));
        tenant.churn.step(20);
        // Versions that are published again show their absences again.
        lost.push(topic, ...(topic === 'absence-versions' ? ['absences'] : []));
        if (process === 'stopped') {
          // Without an index only the log itself shows the loss.
          if (seed % 2 === 0) await flushRedis(tenant.topicPrefix);
          tenant.start();
        }
        await tenant.heals({ lost });
      }
      await tenant.endsWell({ lost });
      const rejects = await readTopics([tenant.topic('rejects')]);
      expect(rejects.filter(({ value }) => value?.['collection'] === 'orgs')).toHaveLength(1);
    },
  );
});
