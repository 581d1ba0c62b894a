import { expect, inject, it, vi } from 'vitest';
import { startRollcall } from '../cli/support/rollcall.ts';
import { COLLECTIONS, startTestTenant } from '../cli/support/test-tenant.ts';
import { startProxy, via } from '../../faults/support/proxy.ts';
import { openMirror } from '../support/mirror.ts';

it('a process that starts without its services is not ready, says why, and begins once they are back', async () => {
  const { kafkaBrokers, registryUrl, redisUrl } = inject('stack');
  await using tenant = await startTestTenant();
  const { hub, topicPrefix } = tenant;
  await using kafka = await startProxy(kafkaBrokers[0] ?? '');
  await using redis = await startProxy(new URL(redisUrl).host);
  await using registry = await startProxy(new URL(registryUrl).host);
  await using hubProxy = await startProxy(new URL(hub.baseUrl).host);
  const proxies = { kafka, redis, registry, hub: hubProxy };
  for (const proxy of Object.values(proxies)) proxy.begin('cut');
  const config = tenant.configWith({
    hubSettings: { baseUrl: via(hub.baseUrl, hubProxy), tokenUrl: via(hub.tokenUrl, hubProxy) },
    settings: {
      kafka: { brokers: [kafka.address] },
      registry: { url: via(registryUrl, registry) },
      redis: { url: via(redisUrl, redis), keyPrefix: topicPrefix },
    },
  });
  await using run = startRollcall(config, 'run');
  await run.says('"port"');
  for (const [part, proxy] of Object.entries(proxies)) {
    await vi.waitFor(async () => {
      const answer = await run.get('/readyz');
      const names = expect.stringContaining(`"part":"${part}"`) as string;
      expect([answer.status, await answer.text()]).toEqual([503, names]);
    });
    proxy.mend();
  }
  await vi.waitFor(async () => expect((await run.get('/readyz')).status).toBe(200));
  expect((await run.stop()).code).toBe(0);
  await using mirror = await openMirror({ collections: COLLECTIONS, hub, topicPrefix });
  expect(await mirror.differences()).toEqual({});
});
