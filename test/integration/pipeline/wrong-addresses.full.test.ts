import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { configTextOf, newTopicPrefix, startTestHub } from '../support/mirror.ts';
import { deleteTopicsOf } from './kafka-admin.ts';
import { startRollcall } from './rollcall-process.ts';

const NOWHERE = '127.0.0.1:1';
const SECRET = 'not-the-right-secret-at-all';

type Json = Record<string, unknown>;

interface Mistake {
  readonly what: string;
  readonly hubSettings?: (hub: ReferenceHub) => Json;
  readonly settings?: () => Json;
  /** The expected message, and the expected advice. */
  readonly message: string;
  readonly remedy: string;
}

const MISTAKES: readonly Mistake[] = [
  {
    what: 'no hub',
    hubSettings: () => ({ baseUrl: `http://${NOWHERE}/north` }),
    message: `http://${NOWHERE}/north`,
    remedy: 'hub.baseUrl',
  },
  {
    what: 'a wrong base URL',
    hubSettings: (hub) => ({ baseUrl: hub.baseUrl.replace(/north$/, 'south') }),
    message: '/south/ims/oneroster/rostering/v1p2/',
    remedy: 'check hub.baseUrl',
  },
  {
    what: 'a wrong secret of the hub',
    hubSettings: () => ({ clientSecret: SECRET }),
    message: 'answered invalid_client (HTTP 401)',
    remedy: 'Check hub.clientId and hub.clientSecret',
  },
  {
    what: 'no Kafka',
    settings: () => ({ kafka: { brokers: [NOWHERE] } }),
    message: `ECONNREFUSED ${NOWHERE}`,
    remedy: 'Check kafka.brokers',
  },
  {
    what: 'no registry',
    settings: () => ({ registry: { url: `http://${NOWHERE}` } }),
    message: `http://${NOWHERE} is unreachable`,
    remedy: 'Check registry.url',
  },
  {
    what: 'a wrong path of the registry',
    settings: () => ({ registry: { url: `${inject('stack').registryUrl}/elsewhere` } }),
    message: 'it may not be a schema registry',
    remedy: 'Check registry.url',
  },
  {
    what: 'no Redis',
    settings: () => ({ redis: { url: `redis://${NOWHERE}` } }),
    message: `Redis at ${NOWHERE} does not answer`,
    remedy: 'redis.url',
  },
  {
    what: 'a wrong password of Redis',
    settings: () => ({
      redis: { url: inject('stack').redisUrl, username: 'rollcall-nobody', password: SECRET },
    }),
    message: 'refuses the user name or password',
    remedy: 'redis.username and redis.password',
  },
];

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

function configOf({ hubSettings, settings }: Mistake, prefix: string): string {
  return configTextOf(hub, prefix, {
    collections: ['users', 'orgs'],
    hubSettings: hubSettings?.(hub),
    settings: settings?.(),
  });
}

function expectNothingBetrayed(output: string): void {
  expect(output).not.toMatch(/^\s+at /m);
  expect(output).not.toContain(SECRET);
  expect(output).not.toContain(hub.clientSecret);
}

describe.each(MISTAKES)('$what', (mistake) => {
  it('is reported with a remedy and without a stack trace: pull exits with 1, and run stays unready', async () => {
    const otherPrefix = newTopicPrefix();
    onTestFinished(() => deleteTopicsOf(otherPrefix));
    // Each runs to its end whatever happens to the other, because each has a process to clean up.
    const both = await Promise.allSettled([pullInVain(mistake), runInVain(mistake, otherPrefix)]);
    for (const result of both) if (result.status === 'rejected') throw result.reason;
  });
});

async function pullInVain(mistake: Mistake): Promise<void> {
  await using child = await startRollcall(['pull'], configOf(mistake, topicPrefix));
  await child.endsWith(1);
  const output = child.output();
  expect(output).toContain(mistake.message);
  expect(output).toContain(mistake.remedy);
  expectNothingBetrayed(output);
}

async function runInVain(mistake: Mistake, prefix: string): Promise<void> {
  await using child = await startRollcall(['run'], configOf(mistake, prefix));
  await vi.waitFor(
    async () => {
      const readiness = await child.readiness();
      expect(readiness?.text ?? child.output()).toContain(mistake.message);
      expect(readiness?.text).toContain(mistake.remedy);
      expect(readiness?.status).toBe(503);
    },
    { timeout: 60_000, interval: 200 },
  );
  const startedAtMs = performance.now();
  child.kill('SIGTERM');
  await child.endsWith(0);
  expect(performance.now() - startedAtMs).toBeLessThan(30_000);
  expectNothingBetrayed(child.output());
}

it('a Redis that refuses the password is reported as such', async () => {
  const name = `rollcall-${randomUUID()}`;
  const admin = new Redis(inject('stack').redisUrl);
  try {
    await admin.acl('SETUSER', name, 'on', '>right-one', '~*', '+@all');
    const url = inject('stack').redisUrl;
    const settings = (password: string) => ({
      redis: { url, username: name, password, keyPrefix: topicPrefix },
    });
    const configText = configTextOf(hub, topicPrefix, {
      collections: ['orgs'],
      settings: settings('right-one'),
    });
    await using right = await startRollcall(['pull'], configText);
    await right.endsWith(0);
    await using wrong = await startRollcall(['pull'], configText.replace('right-one', 'wrong-one'));
    await wrong.endsWith(1);
    expect(wrong.output()).toContain('refuses the user name or password');
  } finally {
    await admin.acl('DELUSER', name);
    admin.disconnect();
  }
});
