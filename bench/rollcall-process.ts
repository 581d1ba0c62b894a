import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Kafka, logLevel } from 'kafkajs';
import type { Stack } from '../stack/start-stack.ts';
import type { HubProcess } from './hub-process.ts';

/** `rollcall run` in a process of its own, which starts Node again with its own flags. What it reads of the process exists on Linux alone. */
export interface RollcallProcess extends AsyncDisposable {
  hasEnded(): boolean;
  /** User and system time of all threads so far, in seconds; Linux counts hundredths. */
  cpuSeconds(): number;
  /** Resident size now, MiB. */
  residentMiB(): number;
  /** Number of its TCP sockets by the port of the other end; 0: it listens. */
  sockets(): ReadonlyMap<number, number>;
}

/** A line of its log. */
export interface LogLine {
  readonly level?: string;
  readonly msg?: string;
  readonly tenant?: string;
  readonly error?: { readonly code?: string };
  readonly port?: number;
}

const PROJECT = join(import.meta.dirname, '..');
const TICKS_A_SECOND = 100;

export function startRollcall(configFile: string, onLine: (line: LogLine) => void): RollcallProcess {
  const args = [join(PROJECT, 'bin', 'rollcall.mjs'), 'run', '--config', configFile];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  createInterface({ input: child.stdout }).on('line', (text) => onLine(JSON.parse(text) as LogLine));
  const folder = `/proc/${child.pid}`;
  return {
    hasEnded: () => child.exitCode !== null,
    cpuSeconds() {
      // utime and stime are the 14th and 15th field; the second is a name in brackets
      const fields = readFileSync(`${folder}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
    },
    residentMiB: () =>
      Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`${folder}/status`, 'utf8'))?.[1]) / 1_024,
    sockets() {
      const inodes = new Set(readdirSync(`${folder}/fd`).map((name) => socketOf(`${folder}/fd/${name}`)));
      const ports = ['tcp', 'tcp6'].flatMap((name) =>
        readFileSync(`${folder}/net/${name}`, 'utf8')
          .split('\n')
          .map((line) => line.trim().split(/\s+/))
          .filter((fields) => inodes.has(fields[9] ?? ''))
          .map(([, , remote = '']) => Number.parseInt(remote.split(':')[1] ?? '', 16)),
      );
      return new Map([...Map.groupBy(ports, (port) => port)].map(([port, all]) => [port, all.length]));
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) child.kill('SIGTERM');
      await exited;
    },
  };
}

/** The inode of a socket; null for another file, or one that was closed meanwhile. */
function socketOf(file: string): string | null {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(file))?.[1] ?? null;
  } catch {
    return null;
  }
}

/** A configuration with the defaults of a deployment, whose topics and Redis keys begin with `prefix`. */
export function runConfig(options: {
  stack: Stack;
  hubOf: (tenantId: string) => Pick<HubProcess, 'baseUrl' | 'tokenUrl' | 'clientId' | 'clientSecret'>;
  prefix: string;
  tenantIds: readonly string[];
  collections?: 'all' | readonly string[];
  partitions?: number;
  incrementalEvery?: string;
}): string {
  const { stack, prefix, tenantIds, collections, partitions, incrementalEvery } = options;
  const { kafkaBrokers: brokers, replicationFactor } = stack;
  const hubOf = (id: string) => {
    const { baseUrl, tokenUrl, clientId, clientSecret } = options.hubOf(id);
    return { baseUrl, tokenUrl, clientId, clientSecret };
  };
  return JSON.stringify({
    tenants: tenantIds.map((id) => ({ id, hub: hubOf(id), collections, incrementalEvery })),
    kafka: { brokers, topicPrefix: prefix, replicationFactor, partitions },
    registry: { url: stack.registryUrl },
    redis: { url: stack.redisUrl, keyPrefix: prefix },
    http: { port: 0 },
  });
}

/** Removes the topics of {@link runConfig}. */
export async function deleteTopics(stack: Stack, prefix: string): Promise<void> {
  const admin = new Kafka({ brokers: [...stack.kafkaBrokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  const topics = (await admin.listTopics()).filter((name) => name.startsWith(`${prefix}.`));
  for (let at = 0; at < topics.length; at += 100)
    await admin.deleteTopics({ topics: topics.slice(at, at + 100), timeout: 60_000 });
  await admin.disconnect();
}
