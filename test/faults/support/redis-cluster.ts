import { vi } from 'vitest';
import type { Certificates } from '../../integration/security/support/certificates.ts';
import { addressOf, portForNode, redisFolder, startRedisNode, type RedisNode } from './redis-node.ts';

/** A Redis Cluster of three primaries, each with as many replicas as wanted. */
export type RedisCluster = Awaited<ReturnType<typeof startRedisCluster>>;

export const SLOTS = 16_384;

/** Starts all nodes; see {@link startRedisNode} about their certificates. */
export async function startRedisCluster({
  replicas = 0,
  certificates,
}: { replicas?: number; certificates?: Certificates | undefined } = {}) {
  const parts = new AsyncDisposableStack();
  const folder = await redisFolder(parts);
  const start = async (): Promise<RedisNode> => {
    const port = String(await portForNode());
    const settings = { port, 'cluster-enabled': 'yes', 'cluster-node-timeout': '2000' };
    return startRedisNode(parts, folder, { settings, certificates });
  };
  const primaries = await Promise.all([1, 2, 3].map(start));
  const others = await Promise.all(primaries.flatMap(() => Array.from({ length: replicas }, start)));
  const nodes = [...primaries, ...others];
  const [first] = primaries as [RedisNode];
  for (const [at, { admin, port }] of primaries.entries()) {
    const slots = Array.from({ length: SLOTS }, (_, slot) => slot).filter(
      (slot) => Math.floor((slot * primaries.length) / SLOTS) === at,
    );
    // Nodes with the same epoch soon take new ones, and with a higher one claim a slot again that is just moving away.
    await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', at + 1);
    await admin.call('CLUSTER', 'ADDSLOTS', ...slots);
    if (at > 0) await first.admin.call('CLUSTER', 'MEET', '127.0.0.1', port);
  }
  for (const { port } of others) await first.admin.call('CLUSTER', 'MEET', '127.0.0.1', port);
  await agree(nodes);
  for (const [at, { admin }] of others.entries()) {
    const of = await idOf(primaries[at % 3] as RedisNode);
    await vi.waitFor(() => admin.call('CLUSTER', 'REPLICATE', of));
  }
  if (replicas > 0) await vi.waitUntil(async () => (await linkedReplicas(others)) === others.length);
  const ids = await Promise.all(nodes.map(idOf));
  const primaryOf = async (slot: number): Promise<RedisNode> => {
    for (const { admin, service } of nodes) {
      if (!service.isRunning()) continue;
      const shards = await admin.cluster('SLOTS');
      const id = shards.find(([from, to]) => from <= slot && slot <= to)?.[2]?.[2];
      const found = nodes[ids.indexOf(id ?? '')];
      if (found !== undefined) return found;
    }
    throw new Error(`no primary has slot ${slot}`);
  };
  return {
    ...(await addressOf(
      nodes.map(({ port }) => port),
      certificates,
    )),
    cluster: true,
    nodes,
    /** The slot of a key. */
    slotOf: (key: string) => first.admin.cluster('KEYSLOT', key),
    /** The primary that has a slot now. */
    primaryOf,
    /** Moves a slot to another primary; calls `amid` when some of its keys have moved. */
    async move(slot: number, amid: () => Promise<void>): Promise<void> {
      const from = await primaryOf(slot);
      const to = primaries.find((node) => node !== from) as RedisNode;
      await moveSlot({ slot, from, to, primaries }, amid);
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

/** As `redis-cli --cluster reshard` does, one key at a time. */
async function moveSlot(
  { slot, from, to, primaries }: { slot: number; from: RedisNode; to: RedisNode; primaries: RedisNode[] },
  amid: () => Promise<void>,
): Promise<void> {
  const [fromId, toId] = [await idOf(from), await idOf(to)];
  await to.admin.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId);
  await from.admin.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId);
  let moved = 0;
  for (;;) {
    const [key] = (await from.admin.call('CLUSTER', 'GETKEYSINSLOT', slot, 1)) as string[];
    if (key === undefined) break;
    await from.admin.call('MIGRATE', '127.0.0.1', to.port, key, 0, 10_000);
    moved += 1;
    if (moved === 3) await amid();
  }
  if (moved < 3) throw new Error(`slot ${slot} had ${moved} keys only`);
  for (const { admin } of [to, from, ...primaries.filter((node) => node !== to && node !== from)])
    await admin.call('CLUSTER', 'SETSLOT', slot, 'NODE', toId);
}

async function idOf({ admin }: RedisNode): Promise<string> {
  return String(await admin.call('CLUSTER', 'MYID'));
}

/** Waits until all nodes know all, and serve all slots. */
async function agree(nodes: readonly RedisNode[]): Promise<void> {
  for (const { admin } of nodes)
    await vi.waitFor(async () => {
      const info = await admin.cluster('INFO');
      const isAgreed = /cluster_state:ok/.test(info) && info.includes(`cluster_known_nodes:${nodes.length}`);
      if (!isAgreed) throw new Error(info);
    });
}

async function linkedReplicas(nodes: readonly RedisNode[]): Promise<number> {
  const infos = await Promise.all(nodes.map(({ admin }) => admin.info('replication')));
  return infos.filter((info) => /^role:slave/m.test(info) && /^master_link_status:up/m.test(info)).length;
}
