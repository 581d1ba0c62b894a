import { afterAll, beforeAll, beforeEach, expect, inject, it, vi } from 'vitest';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { rollcall, startRollcall } from '../cli/support/rollcall.ts';
import { startProxy, type Proxy } from '../../faults/support/proxy.ts';
import {
  configTextOf,
  newTopicPrefix,
  openMirror,
  startTestHub,
  type MirrorOptions,
} from '../support/mirror.ts';
import { deleteTopicsOf } from './kafka-admin.ts';

const COLLECTIONS = ['users', 'orgs'];
const NOWHERE = '127.0.0.1:1';
const SECRET = 'not-the-right-secret-at-all';
const WITHIN = { timeout: 120_000, interval: 200 };

let hub: ReferenceHub;
let topicPrefix: string;

beforeAll(async () => {
  hub = await startTestHub();
});
beforeEach(() => {
  topicPrefix = newTopicPrefix();
  return () => deleteTopicsOf(topicPrefix);
});
afterAll(() => hub.stop());

function configOf({ settings, ...options }: MirrorOptions): string {
  const http = { port: 0 };
  return configTextOf(hub, topicPrefix, {
    collections: COLLECTIONS,
    ...options,
    settings: { http, ...settings },
  });
}

it('parts that are away when a process starts: it stays unready, says why, and begins once they are back', async () => {
  const { kafkaBrokers, registryUrl, redisUrl } = inject('stack');
  const via = (address: string, proxy: Proxy): string =>
    Object.assign(new URL(address), { host: proxy.address }).href.replace(/\/$/, '');
  await using kafka = await startProxy(kafkaBrokers[0] ?? '');
  await using redis = await startProxy(new URL(redisUrl).host);
  await using registry = await startProxy(new URL(registryUrl).host);
  await using hubProxy = await startProxy(new URL(hub.baseUrl).host);
  const proxies = { kafka, redis, registry, hub: hubProxy };
  for (const proxy of Object.values(proxies)) proxy.begin('cut');
  const config = configOf({
    hubSettings: {
      baseUrl: via(hub.baseUrl, hubProxy),
      tokenUrl: via(hub.tokenUrl, hubProxy),
    },
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
      expect([answer.status, await answer.text()]).toEqual([
        503,
        expect.stringContaining(`"part":"${part}"`),
      ]);
    }, WITHIN);
    proxy.mend();
  }
  await vi.waitFor(async () => expect((await run.get('/readyz')).status).toBe(200), WITHIN);
  expect((await run.stop()).code).toBe(0);
  await using mirror = await openMirror({ collections: COLLECTIONS, hub, topicPrefix });
  expect(await mirror.differences()).toEqual({});
});

interface Mistake {
  readonly what: string;
  readonly options: () => MirrorOptions;
  readonly message: string;
  readonly remedy: string;
}

it.each<Mistake>([
  {
    what: 'a wrong base URL',
    options: () => ({ hubSettings: { baseUrl: hub.baseUrl.replace(/north$/, 'south') } }),
    message: '/south/ims/oneroster/rostering/v1p2/',
    remedy: 'check hub.baseUrl',
  },
  {
    what: 'no Kafka',
    options: () => ({ settings: { kafka: { brokers: [NOWHERE] } } }),
    message: `ECONNREFUSED ${NOWHERE}`,
    remedy: 'Check kafka.brokers',
  },
  {
    what: 'a wrong path of the registry',
    options: () => ({ settings: { registry: { url: `${inject('stack').registryUrl}/elsewhere` } } }),
    message: 'it may not be a schema registry',
    remedy: 'Check registry.url',
  },
  {
    what: 'a wrong password of Redis',
    options: () => ({
      settings: { redis: { url: inject('stack').redisUrl, username: 'rollcall-nobody', password: SECRET } },
    }),
    message: 'refuses the user name or password',
    remedy: 'redis.username and redis.password',
  },
])(
  '$what is reported with a remedy, without a secret and without a stack trace',
  async ({ options, message, remedy }) => {
    const { code, stderr } = await rollcall(configOf(options()), 'pull');
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(stderr).toContain(remedy);
    for (const betrayed of [/^\s+at /m, SECRET, hub.clientSecret]) expect(stderr).not.toMatch(betrayed);
  },
);
