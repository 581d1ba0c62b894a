import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openMirror, startTestHub } from '../support/mirror.ts';
it('trial', async () => {
  const hub = await startTestHub();
  for (let i = 0; i < 12; i += 1) {
    await using mirror = await openMirror({ hub, collections: ['orgs', 'courses'] });
    const r = await mirror.full();
    const a = await mirror.ends();
    const n1 = (await mirror.view('courses')).size;
    await delay(300);
    const b = await mirror.ends();
    const n2 = (await mirror.view('courses')).size;
    const same = JSON.stringify(a) === JSON.stringify(b);
    console.log(i, same, n1, n2, hub.district.ids('courses').length, JSON.stringify(r.get('courses')?.stats), same ? '' : JSON.stringify([a, b]));
  }
  await hub.stop();
  expect(1).toBe(1);
}, 100000);
