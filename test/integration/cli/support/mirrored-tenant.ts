import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { inject } from 'vitest';
import { loadConfig } from '../../../../src/config.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';
import type { SyncMode } from '../../../../src/model/progress.ts';
import { assemble } from '../../../../src/session/assemble.ts';
import { openSession } from '../../../../src/session/open-session.ts';
import { halfADayAfter } from '../../support/half-a-day.ts';
import { syncOnce } from '../../support/sync-once.ts';
import { startReferenceHub, type ReferenceHub } from '../../../../reference-hub/start-reference-hub.ts';

/** Lines of the configuration, as YAML; each given one replaces the correct one. */
export interface ConfigParts {
  readonly baseUrl?: string;
  readonly tokenUrl?: string;
  readonly clientSecret?: string;
  readonly collections?: string;
  readonly brokers?: string;
  readonly kafka?: string;
  readonly registryUrl?: string;
  /** Null: no Redis. */
  readonly redisUrl?: string | null;
}

/** A tenant `north` with a hub, topics and keys of its own, and the configuration as a file. */
export interface TestTenant extends AsyncDisposable {
  readonly hub: ReferenceHub;
  readonly topicPrefix: string;
  readonly configPath: string;
  /** Writes another configuration beside the correct one and returns its path. */
  configWith(parts: ConfigParts): string;
  /** Syncs each collection once, in this process. */
  sync(mode: SyncMode, collections: readonly CollectionName[]): Promise<void>;
}

export const COLLECTIONS = ['orgs', 'courses', 'users'] as const;

export async function startTestTenant(): Promise<TestTenant> {
  const hub = await startReferenceHub({ students: 40, seed: 3, restampAt: halfADayAfter(Date.now()) });
  const topicPrefix = `cli-${randomUUID().slice(0, 8)}`;
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-verbs-'));
  const write = (name: string, parts: ConfigParts): string => {
    const path = join(folder, name);
    writeFileSync(path, yamlOf(hub, { topicPrefix, parts }));
    return path;
  };
  const configPath = write('rollcall.yaml', {});
  let written = 0;
  return {
    hub,
    topicPrefix,
    configPath,
    configWith(parts) {
      written += 1;
      return write(`other-${written}.yaml`, parts);
    },
    async sync(mode, collections) {
      const yaml = yamlOf(hub, { topicPrefix, parts: {} });
      const config = loadConfig({ path: 'rollcall.yaml', env: {}, readFile: () => yaml });
      await using assembly = assemble(config, { logger: pino({ level: 'silent' }), emit: () => undefined });
      const { signal } = new AbortController();
      await using tenant = assembly.tenant('north');
      const session = await openSession(tenant, signal);
      const results = await syncOnce(session, { collections, mode, signal });
      const failed = results.find(({ error }) => error !== null);
      if (failed !== undefined)
        throw new Error(`the sync of ${failed.collection} failed`, { cause: failed.error });
    },
    async [Symbol.asyncDispose]() {
      await hub.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

function yamlOf(hub: ReferenceHub, options: { topicPrefix: string; parts: ConfigParts }): string {
  const stack = inject('stack');
  const { topicPrefix, parts } = options;
  const redisUrl = parts.redisUrl === undefined ? stack.redisUrl : parts.redisUrl;
  return `tenants:
  - id: north
    hub:
      baseUrl: "${parts.baseUrl ?? hub.baseUrl}"
      tokenUrl: "${parts.tokenUrl ?? hub.tokenUrl}"
      clientId: "${hub.clientId}"
      clientSecret: "${parts.clientSecret ?? hub.clientSecret}"
    collections: ${parts.collections ?? `[${COLLECTIONS.join(', ')}]`}
    fullPull: { at: "${halfADayAfter(Date.now())}", timeZone: Europe/Oslo }
kafka:
  brokers: ["${parts.brokers ?? stack.kafkaBrokers.join('", "')}"]
  topicPrefix: ${topicPrefix}
  ${parts.kafka ?? 'replicationFactor: 1'}
registry: { url: "${parts.registryUrl ?? stack.registryUrl}" }
http: { port: 0 }
deletions: { confirmAfter: 1s }
${redisUrl === null ? '' : `redis: { url: "${redisUrl}", keyPrefix: ${topicPrefix} }`}
`;
}
