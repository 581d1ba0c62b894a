import { expect, it } from 'vitest';
import { readWaiting } from '../../../src/sync/read-waiting.ts';
import { onHoldIn } from '../telemetry/support/board-of.ts';

const WHY = 'all of them are missing';

it.each([
  [1, WHY],
  [220, '219 of 220 missing rows are back'],
])('the last of %i rows on hold is still listed, with the current reason: %s', async (rowsOnHold, why) => {
  const progress = new Map([['users', onHoldIn('users', rowsOnHold, { why: WHY })]] as const);
  const keys = new Map([['row', { sinceMs: 1, times: 2 }]]);
  const remembered = { syncId: 's', confirmAtMs: null, confirmsAll: false, keys };
  const { collections } = await readWaiting({ missing: () => Promise.resolve(remembered) }, progress);
  expect(collections).toMatchObject([{ count: 1, why }]);
});
