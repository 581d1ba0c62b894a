import { expect, it, vi } from 'vitest';
import { answer, serve } from '../../unit/hub/support/scripted-hub.ts';
import { idOf } from '../support/rows.ts';
import { rollcall, startOwner } from './support/rollcall.ts';
import { COLLECTIONS, startTestTenant } from './support/test-tenant.ts';

const WITHIN = { timeout: 120_000, interval: 200 } as const;

interface Notice {
  readonly status: string;
  readonly tenant: string;
  readonly collections: readonly string[];
  readonly code: string;
  readonly commands: readonly string[];
}

it('rows on hold are posted to notify.url without a row, and again when they are back', async () => {
  await using tenant = await startTestTenant();
  await using receiver = await serve(answer(200));
  await tenant.full(...COLLECTIONS);
  tenant.hub.faults.set('empty-list@courses');
  await tenant.full('courses');
  const url = `${receiver.origin}/hook`;
  const config = tenant.configWith({ settings: { notify: { url, after: '1s' } } });
  await using owner = await startOwner(config);
  const notices = () =>
    receiver.asked
      .flatMap(({ body }) => (JSON.parse(body) as { states: Notice[] }).states)
      .filter(({ code }) => code === 'ROWS_ON_HOLD');
  await vi.waitFor(() => expect(notices()).toHaveLength(1), WITHIN);
  expect(notices()).toMatchObject([{ status: 'begun', tenant: 'north', collections: ['courses'] }]);
  expect(notices()[0]?.commands).toEqual([expect.stringMatching(/rollcall deletes list --tenant north$/)]);
  tenant.hub.faults.clear();
  expect((await rollcall(config, 'pull', '--full', '--collection', 'courses')).code).toBe(0);
  await vi.waitFor(() => expect(notices().map(({ status }) => status)).toEqual(['begun', 'over']), WITHIN);
  const sent = receiver.asked.map(({ body }) => body).join('');
  for (const row of tenant.hub.district.snapshot('courses')) expect(sent).not.toContain(`"${idOf(row)}"`);
  expect((await owner.stop()).code).toBe(0);
});
