import { expect, it, vi } from 'vitest';
import type { Notice } from '../../../src/core/health/notices.ts';
import { answer, inTurn, serve } from '../../unit/hub/support/scripted-hub.ts';
import { idOf } from '../support/rows.ts';
import { rollcall, startOwner } from './support/rollcall.ts';
import { COLLECTIONS, startTestTenant } from './support/test-tenant.ts';

it('notify.url gets a notice when a hold begins and when the hold ends, without content of rows', async () => {
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
  await vi.waitFor(() => expect(notices()).toHaveLength(1));
  const rows = tenant.hub.district.snapshot('courses').length;
  expect(notices()).toMatchObject([{ status: 'begun', tenant: 'north', collections: ['courses'], rows }]);
  expect(notices()[0]?.commands).toEqual([expect.stringMatching(/rollcall deletes list --tenant north$/)]);
  tenant.hub.faults.clear();
  expect((await rollcall(config, 'pull', '--full', '--collection', 'courses')).code).toBe(0);
  await vi.waitFor(() => expect(notices().map(({ status }) => status)).toEqual(['begun', 'over']));
  const sent = receiver.asked.map(({ body }) => body).join('');
  for (const row of tenant.hub.district.snapshot('courses')) expect(sent).not.toContain(`"${idOf(row)}"`);
  expect((await owner.stop()).code).toBe(0);
});

it('check --notify sends a message that says that it is a test, and fails if nobody takes it', async () => {
  await using tenant = await startTestTenant();
  await using receiver = await serve(inTurn(answer(204), answer(403)));
  const config = tenant.configWith({ settings: { notify: { url: `${receiver.origin}/hook` } } });
  const untried = await rollcall(config, 'check');
  expect(untried.stdout).toMatch(/- +notify\.url +"\S*rollcall check --notify" sends a test message/);
  expect(receiver.asked).toEqual([]);
  expect(await rollcall(config, 'check', '--notify')).toMatchObject({ code: 0 });
  const [message] = receiver.asked.map(({ body }) => JSON.parse(body) as { text: string; states: Notice[] });
  expect(message?.text).toContain('this is a test of notify.url');
  expect(message?.states).toMatchObject([{ status: 'test', tenant: null, code: 'test', commands: [] }]);
  const refused = await rollcall(config, 'check', '--notify');
  expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('it answers 403') as string]);
});
