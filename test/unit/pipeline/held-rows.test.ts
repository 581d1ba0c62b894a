import { expect, it } from 'vitest';
import type { DeletionEvent } from '../../../src/core/pipeline-events.ts';
import { readWaiting } from '../../../src/sync/read-waiting.ts';
import { runSync } from '../../../src/sync/run-sync.ts';
import { withheldIn } from '../telemetry/support/board-of.ts';
import { MadeHub } from './support/made-hub.ts';

const { signal } = new AbortController();

it('a hold says one thing of its rows: that it began, and then that all of them are back', async () => {
  const hub = new MadeHub(100);
  const told: DeletionEvent[] = [];
  const own = await hub.session({
    emit: (event) => void (event.type === 'deletion' && told.push(event.event)),
  });
  for (let at = 0; at < 10; at += 1) hub.put(`row-${at}`, 1);
  await runSync(own, 'FULL', { signal });
  const { rows } = hub;
  hub.rows = new Map([...rows].slice(0, 3));
  await runSync(own, 'FULL', { signal });
  await runSync(own, 'FULL', { signal });
  hub.rows = rows;
  await runSync(own, 'FULL', { signal });
  const why = 'half or more is missing: 7 of 10 rows';
  expect(told).toMatchObject([{ kind: 'held', rows: 7, why }, { kind: 'healed' }]);
});

const WHY = 'all of them are missing';

it.each([
  [1, WHY],
  [220, 'of 220 missing rows 219 are back'],
])(
  'of %i rows missing at the last full sync the one still missing is listed, with the reason of now: %s',
  async (rowsWithheld, why) => {
    const progress = new Map([['users', withheldIn('users', rowsWithheld, { why: WHY })]] as const);
    const keys = new Map([['row', { sinceMs: 1, times: 2 }]]);
    const remembered = { syncId: 's', confirmAtMs: null, confirmsAll: false, keys };
    const { collections } = await readWaiting({ missing: () => Promise.resolve(remembered) }, progress);
    expect(collections).toMatchObject([{ count: 1, why }]);
  },
);
