import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { pino } from 'pino';
import { createKafkaClient } from '../../../src/log/kafka-client.ts';
import { KafkaPing } from '../../../src/log/kafka-client.ts';
import { startStack } from '../../../stack/start-stack.ts';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { startFrailProxy } from '../state/frail-proxy.ts';
import { differences } from '../support/hub-oracle.ts';
import {
  configTextOf,
  newTopicPrefix,
  openMirror,
  startTestHub,
  type MirrorOptions,
} from '../support/mirror.ts';
import { readTopicsAt } from '../support/read-topics.ts';
import { keysPublishedTwice } from './index-check.ts';
import { deleteTopicsOf } from './kafka-admin.ts';
import { startRollcall, type RollcallProcess } from './rollcall-process.ts';

const OPTIONS = { collections: ['users', 'orgs'], tenant: { deltaEvery: '1s' } } as const;

let hub: ReferenceHub;
let topicPrefix: string;

beforeEach(async () => {
  hub = await startTestHub();
  topicPrefix = newTopicPrefix();
});
afterEach(async () => {
  await hub.stop();
  await deleteTopicsOf(topicPrefix);
});

async function becomesReady(child: RollcallProcess, withinMs = 60_000): Promise<void> {
  await vi.waitFor(
    async () => {
      const readiness = await child.readiness();
      if (readiness?.status !== 200)
        throw new Error(`${readiness?.text}
${child.output()}`);
    },
    { timeout: withinMs, interval: 200 },
  );
}

async function saysWhyNotReady(child: RollcallProcess, part: string, withinMs = 60_000): Promise<void> {
  await vi.waitFor(
    async () => {
      const readiness = await child.readiness();
      expect(readiness?.text ?? child.output()).toContain(`"part":"${part}"`);
      expect(readiness?.status).toBe(503);
    },
    { timeout: withinMs, interval: 200 },
  );
}

/** Waits for the first complete sync of `users`. */
async function loadsUsers(child: RollcallProcess): Promise<void> {
  await vi.waitFor(
    () => expect(child.output()).toMatch(/"collection":"users".*"outcome":"complete"/),
    60_000,
  );
}

async function stops(child: RollcallProcess): Promise<void> {
  child.kill('SIGTERM');
  await child.endsWith(0);
  expect(child.output()).not.toMatch(/^\s+at /m);
}

describe('a part that is away when the process starts', () => {
  const via = (address: string, proxied: string): string => {
    const url = new URL(address);
    url.host = new URL(proxied).host;
    return url.href.replace(/\/$/, '');
  };

  const PARTS: Record<string, { target: () => string; options: (proxied: string) => MirrorOptions }> = {
    kafka: {
      target: () => `kafka://${inject('stack').kafkaBrokers[0]}`,
      options: (proxied) => ({ settings: { kafka: { brokers: [new URL(proxied).host] } } }),
    },
    registry: {
      target: () => inject('stack').registryUrl,
      options: (proxied) => ({ settings: { registry: { url: via(inject('stack').registryUrl, proxied) } } }),
    },
    redis: {
      target: () => inject('stack').redisUrl,
      options: (proxied) => ({
        settings: { redis: { url: via(inject('stack').redisUrl, proxied), keyPrefix: topicPrefix } },
      }),
    },
    hub: {
      target: () => hub.baseUrl,
      options: (proxied) => ({
        hubSettings: { baseUrl: via(hub.baseUrl, proxied), tokenUrl: via(hub.tokenUrl, proxied) },
      }),
    },
  };

  it.each(Object.keys(PARTS))(
    '%s: the process stays unready, says why, and begins once the part is back',
    async (name) => {
      const part = PARTS[name];
      if (part === undefined) throw new Error(name);
      const proxy = await startFrailProxy(part.target());
      try {
        proxy.cut();
        const configText = configTextOf(hub, topicPrefix, { ...OPTIONS, ...part.options(proxy.url) });
        await using child = await startRollcall(['run'], configText);
        await saysWhyNotReady(child, name);
        proxy.mend();
        await becomesReady(child);
        await loadsUsers(child);
        await stops(child);
      } finally {
        await proxy.close();
      }
      await using mirror = await openMirror({ ...OPTIONS, hub, topicPrefix });
      expect(await mirror.differences('users')).toEqual({});
      expect(await keysPublishedTwice(mirror, 'users')).toEqual([]);
    },
  );

  it('Redis away later: the process continues once it is back, and publishes nothing twice', async () => {
    const proxy = await startFrailProxy(inject('stack').redisUrl);
    const redis = { url: via(inject('stack').redisUrl, proxy.url), keyPrefix: topicPrefix };
    try {
      await using child = await startRollcall(
        ['run'],
        configTextOf(hub, topicPrefix, { ...OPTIONS, settings: { redis } }),
      );
      await becomesReady(child);
      await loadsUsers(child);
      const [id = ''] = hub.district.ids('users');
      proxy.cut();
      hub.district.patch('users', id, { givenName: 'Somebody Else' });
      await saysWhyNotReady(child, 'redis');
      proxy.mend();
      await becomesReady(child);
      await child.says('"rowsUpdated":1');
      await stops(child);
      await using mirror = await openMirror({ ...OPTIONS, hub, topicPrefix });
      expect(await mirror.differences()).toEqual({});
      expect(await keysPublishedTwice(mirror, 'users')).toEqual([id]);
    } finally {
      await proxy.close();
    }
  });
});

it('Kafka killed under a running process: a ping fails until Kafka is back; the process continues then, and nothing is lost or published twice', async (context) => {
  const shared = inject('stack');
  vi.stubEnv('ROLLCALL_KAFKA_BROKERS', undefined);
  vi.stubEnv('ROLLCALL_REGISTRY_URL', shared.registryUrl);
  vi.stubEnv('ROLLCALL_REDIS_URL', shared.redisUrl);
  const starting = startStack({ print: () => undefined, prefer: 'testcontainers' });
  await using own = await starting.finally(() => vi.unstubAllEnvs());
  const { kafka } = own.processes;
  if (kafka === undefined)
    return context.skip('Kafka runs in Docker here, where it cannot be killed and come back');
  const options = { ...OPTIONS, settings: { kafka: { brokers: own.kafkaBrokers } } };
  await using child = await startRollcall(['run'], configTextOf(hub, topicPrefix, options));
  await becomesReady(child);
  await loadsUsers(child);
  await using pulse = new KafkaPing(
    createKafkaClient(
      { brokers: own.kafkaBrokers, clientId: 'pulse', tls: false, sasl: undefined, sessionMs: 10_000 },
      pino({ level: 'silent' }),
    ),
  );
  await expect(pulse.ping()).resolves.toBeUndefined();
  const [id = '', another = ''] = hub.district.ids('users');
  kafka.kill('SIGKILL');
  await expect(pulse.ping()).rejects.toMatchObject({ code: 'KAFKA_UNREACHABLE' });
  hub.district.patch('users', id, { givenName: 'Somebody Else' });
  await saysWhyNotReady(child, 'kafka');
  await kafka.restart();
  await expect(pulse.ping()).resolves.toBeUndefined();
  await becomesReady(child, 90_000);
  hub.district.patch('users', another, { givenName: 'Somebody New' });
  await vi.waitFor(
    async () => {
      const records = await readTopicsAt(own, [`${topicPrefix}.north.users`]);
      expect(differences({ hub, collection: 'users', records })).toEqual([]);
      expect(records.filter(({ key }) => key === id)).toHaveLength(2);
      const keys = records.map(({ key }) => key).filter((key) => key !== id && key !== another);
      expect(new Set(keys).size).toBe(keys.length);
    },
    { timeout: 60_000, interval: 500 },
  );
  await stops(child);
});
