import { expect, it, vi } from 'vitest';
import { openMirror } from '../support/mirror.ts';
import { startProcess } from '../support/running.ts';
import { rollcall, startRollcall } from './support/rollcall.ts';
import { startTestTenant } from './support/test-tenant.ts';

it('if the owner that handles a command is killed, the command asks the next owner', async () => {
  await using mirror = await openMirror({
    collections: ['users'],
    hubSettings: { pageSize: 5 },
    tenant: { incrementalEvery: '1h' },
  });
  await mirror.full();
  const first = startProcess(mirror.configText, 'run');
  // Its own first sync is over, so it makes every later full sync for the command.
  await first.until('its first sync is over', async () => {
    const metrics = await first.get('/metrics').then(
      (answer) => answer.text(),
      () => '',
    );
    return /^rollcall_sync_duration_seconds_count\{.*\} [1-9]/m.test(metrics);
  });
  mirror.hub.faults.set('latency=1000@users');
  mirror.hub.requests.clear();
  const command = startRollcall(mirror.configText, 'pull', '--full');
  await command.says('asking the process that mirrors');
  // The owner handles the request: it reads all rows of the hub, not only changed ones.
  await vi.waitFor(() => {
    const asked = mirror.hub.requests.all().filter(({ target }) => target === 'users');
    expect(asked.some(({ url }) => !url.includes('filter='))).toBe(true);
  });
  // It waits in the group, since a command takes over itself where no other owner appears for some seconds.
  await using second = startRollcall(mirror.configText, 'run');
  await second.says('no tenant is assigned to this process');
  first.kill('SIGKILL');
  mirror.hub.faults.clear();
  const { code, stderr } = await command.ended;
  expect(stderr).toContain("finding the tenant's present owner");
  expect(stderr.split('asking the process that mirrors').length - 1).toBe(2);
  expect(code).toBe(0);
  await second.says('"mirroring"');
  const ended = await second.stop();
  expect([ended.code, ended.stdout.includes('OWNERSHIP_LOST')]).toEqual([0, false]);
});

it('without Redis, a command does not take over a tenant that a process on the same machine mirrors', async () => {
  await using tenant = await startTestTenant();
  const config = tenant.configWith({ inMemory: true });
  await using owner = startProcess(config, 'run');
  await owner.says('"mirroring"');
  const { code, stderr } = await rollcall(config, 'pull');
  expect([code, stderr]).toEqual([2, expect.stringContaining('cannot send it a request')]);
  expect((await owner.stop()).stdout).not.toContain('OWNERSHIP_LOST');
});
