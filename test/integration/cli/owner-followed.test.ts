import { expect, it, vi } from 'vitest';
import { openMirror } from '../support/mirror.ts';
import { configFile } from './support/config-file.ts';
import { startRollcall } from './support/rollcall.ts';

it('a command whose owner is killed asks the next owner, which continues afterwards', async () => {
  await using mirror = await openMirror({
    collections: ['users'],
    hubSettings: { pageSize: 5 },
    tenant: { deltaEvery: '1h' },
    settings: { http: { port: 0 } },
  });
  await mirror.full();
  using config = configFile(mirror.configText);
  const first = startRollcall(config.path, ['run'], { longestMs: 180_000 });
  // Its own first sync is over, so it makes every later full sync for the command.
  await first.says('"rowsSeen"');
  mirror.hub.faults.set('latency=1000@users');
  mirror.hub.requests.clear();
  const command = startRollcall(config.path, ['pull', '--full'], { longestMs: 180_000 });
  await command.says('asking the process that runs');
  // The owner handles the request: it reads all rows of the hub, not only changed ones.
  await vi.waitFor(
    () => {
      const asked = mirror.hub.requests.all().filter(({ target }) => target === 'users');
      expect(asked.some(({ url }) => !url.includes('filter='))).toBe(true);
    },
    { timeout: 30_000, interval: 50 },
  );
  first.kill('SIGKILL');
  const second = startRollcall(config.path, ['run'], { longestMs: 180_000 });
  mirror.hub.faults.clear();
  const { code, stderr } = await command.ended;
  expect(stderr).toContain("finding the tenant's present owner");
  expect(stderr.split('asking the process that runs').length - 1).toBe(2);
  expect(code).toBe(0);
  await second.says('mirroring');
  second.kill('SIGTERM');
  const ended = await second.ended;
  expect([ended.code, ended.stdout.includes('OWNERSHIP_LOST')]).toEqual([0, false]);
});
