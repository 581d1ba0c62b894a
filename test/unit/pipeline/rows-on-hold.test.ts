import { expect, it } from 'vitest';
import type { DeletionEvent } from '../../../src/core/pipeline-events.ts';
import { readWaiting } from '../../../src/sync/read-waiting.ts';
import { runSync } from '../../../src/sync/run-sync.ts';
import { onHoldIn } from '../telemetry/support/board-of.ts';
import { MadeHub } from './support/made-hub.ts';

const { signal } = new AbortController();

it('a hold is reported when it begins and when all its rows are back, and not in between', async () => {
  const hub = new MadeHub(100);
  const reported: DeletionEvent[] = [];
  const own = await hub.session({
    emit: (event) => void (event.type === 'deletion' && reported.push(event.event)),
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
  expect(reported).toMatchObject([{ kind: 'hold', rows: 7, why }, { kind: 'healed' }]);
});

const WHY = 'all of them are missing';

it.each([
  [1, WHY],
  [220, '219 of 220 missing rows are back'],
])('of %i missing rows one is still listed, with the current reason: %s', async (rowsOnHold, why) => {
  const progress = new Map([['users', onHoldIn('users', rowsOnHold, { why: WHY })]] as const);
  const keys = new Map([['row', { sinceMs: 1, times: 2 }]]);
  const remembered = { syncId: 's', confirmAtMs: null, confirmsAll: false, keys };
  const { collections } = await readWaiting({ missing: () => Promise.resolve(remembered) }, progress);
  expect(collections).toMatchObject([{ count: 1, why }]);
});
