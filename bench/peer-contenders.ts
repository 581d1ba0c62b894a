import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PEERS_FOLDER, type BuiltPeer } from './build-peers.ts';
import { collectionNamed } from '../src/model/collections.ts';
import type { Bench } from './bench.ts';
import { ENVIRONMENT, NODE_FLAGS } from '../bin/bounded-memory.mjs';
import { COLLECTIONS, pullConfig } from './chain-publishers.ts';

/** Something that mirrors the hub's absences into Kafka when it is run, and publishes only changes when run again. */
export interface Contender {
  readonly name: PeerName;
  /** Null for Rollcall, which makes its own topics; the others need one. */
  readonly schemaFile: string | null;
  readonly command: (mirror: PeerMirror) => Promise<PeerCommand>;
}

export type PeerName = 'rollcall' | 'rollcall-changes' | 'connect-safe' | 'connect-stock' | 'dlt';

export const PEER_TITLES: Readonly<Record<PeerName, string>> = {
  rollcall: 'Rollcall, one record for each row',
  'rollcall-changes': 'Rollcall with absences and their changes',
  'connect-safe': 'Redpanda Connect, safe (remembers a row after Kafka has acknowledged it)',
  'connect-stock': 'Redpanda Connect with its own `dedupe` (unsafe)',
  dlt: 'dlt, with a destination written for this test',
};

/** The topics and keys of one contender in one round, all of which begin with its name. */
export interface PeerMirror {
  readonly name: string;
  /** For files; empty at first. */
  readonly folder: string;
}

export interface PeerCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export function rollcallContender(bench: Bench, name: 'rollcall' | 'rollcall-changes'): Contender {
  const collections = COLLECTIONS[name === 'rollcall' ? 'without' : 'with'];
  return {
    name,
    schemaFile: null,
    async command(mirror) {
      const config = join(mirror.folder, 'rollcall.json');
      await writeFile(config, pullConfig(bench, { prefix: mirror.name, tenantIds: ['north'], collections }));
      const launcher = join(import.meta.dirname, '..', 'bin', 'rollcall.mjs');
      return {
        program: process.execPath,
        args: [...NODE_FLAGS, launcher, '--json', 'pull', '--full', '--config', config],
        env: ENVIRONMENT,
      };
    },
  };
}

export function connectContender(
  bench: Bench,
  { name, program }: { name: 'connect-safe' | 'connect-stock'; program: string },
): Contender {
  const file = join(PEERS_FOLDER, 'redpanda-connect', `${name === 'connect-safe' ? 'safe' : 'stock'}.yaml`);
  return {
    name,
    schemaFile: join(PEERS_FOLDER, 'absence.avsc'),
    command: async (mirror) => ({ program, args: ['run', file], env: addresses(bench, mirror) }),
  };
}

export function dltContender(bench: Bench, { program }: Extract<BuiltPeer, { program: string }>): Contender {
  return {
    name: 'dlt',
    schemaFile: join(PEERS_FOLDER, 'absence.avsc'),
    command: async (mirror) => ({
      program,
      args: [join(PEERS_FOLDER, 'dlt', 'mirror.py')],
      env: { ...addresses(bench, mirror), WORK_FOLDER: mirror.folder },
    }),
  };
}

function addresses({ stack, hub }: Bench, { name }: PeerMirror): Record<string, string> {
  return {
    HUB_URL: `${hub.baseUrl}${collectionNamed('absence-versions').path}`,
    HUB_TOKEN_URL: hub.tokenUrl,
    HUB_CLIENT_ID: hub.clientId,
    HUB_CLIENT_SECRET: hub.clientSecret,
    KAFKA_BROKERS: stack.kafkaBrokers.join(','),
    REGISTRY_URL: stack.registryUrl,
    REDIS_URL: stack.redisUrl,
    TOPIC: name,
    SUBJECT: `${name}-value`,
    KEY_PREFIX: name,
  };
}
