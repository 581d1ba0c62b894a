import { describe, expect, it } from 'vitest';
import { openMirror } from '../support/mirror.ts';
import { only } from '../support/only.ts';

const NOW = Date.parse('2026-03-10T09:30:00Z');

describe('schedules', () => {
  it('thin', async () => {
    await using mirror = await openMirror({
      collections: only({ schedules: {}, students: {} }),
      tenant: { schedules: { students: 'all', daysBack: 1, daysAhead: 3 } },
      hubOptions: { students: 10 },
      parts: () => ({ now: () => NOW }),
    });
    const results = await mirror.full();
    console.log(results.get('schedules'));
    const view = await mirror.view('schedules');
    console.log(view.size, JSON.stringify([...view.values()][0], null, 1));
    const before = await mirror.ends();
    const again = await mirror.full('schedules');
    console.log(again.get('schedules'));
    expect(await mirror.ends()).toEqual(before);
  });
});
