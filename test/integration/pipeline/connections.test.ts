import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { expect, inject, it, onTestFinished } from 'vitest';
import type { TenantStatus } from '../../../src/core/health/tenant-status.ts';
import { configTextOf, newTopicPrefix, startTestHub } from '../support/mirror.ts';
import { startProcess } from '../support/running.ts';
import { deleteTopicsOf } from '../support/stack-kafka.ts';

const TENANTS = Array.from({ length: 30 }, (_, at) => `t${at}`);
const AT_MOST = 3;
/** The machine may be busy. */
const MIRRORED_WITHIN_MS = 600_000;
const ESTABLISHED = '01';

/** Open connections of a process to each of these ports, as Linux counts them. */
function connectionsOf(pid: number, ports: readonly number[]): ReadonlyMap<number, number> {
  const sockets = new Set<string>();
  for (const descriptor of readdirSync(`/proc/${pid}/fd`)) {
    try {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${descriptor}`)) ?? [];
      if (inode !== undefined) sockets.add(inode);
    } catch {
      // It has been closed meanwhile.
    }
  }
  // While connections come and go, Linux may list one twice.
  const open = new Map(ports.map((port) => [port, new Set<string>()]));
  const lines = ['tcp', 'tcp6'].flatMap((name) =>
    readFileSync(`/proc/${pid}/net/${name}`, 'utf8').split('\n'),
  );
  for (const line of lines) {
    const [, , remote = '', state, , , , , , inode = ''] = line.trim().split(/\s+/);
    const port = Number.parseInt(remote.slice(remote.indexOf(':') + 1), 16);
    if (state === ESTABLISHED && sockets.has(inode)) open.get(port)?.add(inode);
  }
  return new Map([...open].map(([port, inodes]) => [port, inodes.size]));
}

it('a process with many tenants has at most three connections to each broker, from its start on', async (context) => {
  if (process.platform !== 'linux') context.skip('counts connections as Linux shows them');
  await using hub = await startTestHub({ students: 8 });
  const topicPrefix = newTopicPrefix();
  onTestFinished(() => deleteTopicsOf(topicPrefix));
  const settings = { kafka: { partitions: 1 } };
  const mirrored = { collections: ['orgs'], tenant: { incrementalEvery: '1s' }, settings };
  await using run = startProcess(configTextOf(hub, topicPrefix, mirrored, TENANTS), 'run');
  expect(run.pid, 'a process of its own').not.toBe(process.pid);
  const ports = inject('stack').kafkaBrokers.map((broker) =>
    Number(broker.slice(broker.lastIndexOf(':') + 1)),
  );
  let most = 0;
  const expectFew = (): void => {
    const counts = connectionsOf(run.pid, ports);
    most = Math.max(most, ...counts.values());
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(AT_MOST);
  };
  await run.until(
    'all tenants are mirrored',
    async () => {
      expectFew();
      const answer = await run.get('/status.json').catch(() => null);
      const board = (await answer?.json()) as { readonly tenants: readonly TenantStatus[] } | undefined;
      return board?.tenants.length === TENANTS.length && board.tenants.every(({ ready }) => ready);
    },
    MIRRORED_WITHIN_MS,
  );
  expect(most).toBeGreaterThan(1);
}, 900_000);
