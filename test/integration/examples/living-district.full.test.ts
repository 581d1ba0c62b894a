import { setTimeout as delay } from 'node:timers/promises';
import { inject, expect, it } from 'vitest';
import { createRandom } from '../../../reference-hub/random.ts';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { deleteTopicsOf } from '../support/stack-kafka.ts';
import { startProcess } from '../support/running.ts';
import { chainProblems, loggedChanges } from '../../oracle/absences.ts';
import { configTextOf, newTopicPrefix, openMirror, startTestHub } from '../support/mirror.ts';
import { readTopicsAt } from '../support/read-topics.ts';
import { absentAtHub, prints, startTable } from './absent-table.ts';

const COLLECTIONS = ['absence-versions', 'absences', 'absence-changes'];
const OPTIONS = {
  collections: COLLECTIONS,
  tenant: { incrementalEvery: '300ms' },
  hubSettings: { pageSize: 100 },
  settings: { deletions: { holdAbove: { rows: 10_000, ratio: 1 } } },
};
const LIVES = 4;
const LONGEST_LIFE_MS = 2_000;
const random = createRandom(5);

/** Lets a school day pass in some seconds, until it is disposed of. */
function liveFast(hub: ReferenceHub): Disposable {
  const timer = setInterval(() => {
    hub.clock.advance(5_000);
    hub.living.step(8);
  }, 60);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

it('a consumer built as documented ends equal to a fast hub, however often Rollcall is killed', async () => {
  const hub = await startTestHub({ students: 120 });
  const topicPrefix = newTopicPrefix();
  const topics = `${topicPrefix}.north`;
  try {
    const configText = configTextOf(hub, topicPrefix, OPTIONS);
    {
      using _life = liveFast(hub);
      for (let life = 0; life < LIVES; life += 1) {
        await using rollcall = startProcess(configText, 'run');
        // What comes after the first load is news.
        await rollcall.says(life === 0 ? '"outcome":"complete"' : '"mirroring"');
        await delay(500 + random.below(LONGEST_LIFE_MS));
        const signal = life % 2 === 0 ? 'SIGKILL' : 'SIGTERM';
        rollcall.kill(signal);
        await rollcall.endsWith(signal === 'SIGKILL' ? signal : 0);
      }
    }
    {
      await using mirror = await openMirror({ ...OPTIONS, hub, topicPrefix });
      await mirror.full();
    }
    await using last = startTable('TypeScript', topics, '--once', '--json');
    await last.endsWith(0);
    expect(prints(last).map(({ absent }) => absent)).toEqual([absentAtHub(hub)]);
    const read = (suffix: string) => readTopicsAt(inject('stack'), [`${topics}.${suffix}`]);
    const changes = await read('absence-changes');
    expect(chainProblems({ hub, absences: await read('absences'), changes })).toEqual([]);
    // The history has enough changes to prove something.
    const news = loggedChanges(changes).filter(({ snapshot }) => !snapshot);
    expect(news.length).toBeGreaterThan(30);
  } finally {
    await hub.stop();
    await deleteTopicsOf(topicPrefix);
  }
});
