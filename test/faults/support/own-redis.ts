import { cp, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { Certificates } from '../../integration/security/support/certificates.ts';
import { redisFolder, startRedisNode } from './redis-node.ts';

/** A Redis that no other test uses, so that it may be emptied, filled, killed and restored. */
export type OwnRedis = Awaited<ReturnType<typeof startOwnRedis>>;

/** Starts a Redis; see {@link startRedisNode} about its certificates. */
export async function startOwnRedis(certificates?: Certificates) {
  const parts = new AsyncDisposableStack();
  const folder = await redisFolder(parts);
  const node = await startRedisNode(parts, folder, { certificates });
  const { service, data } = node;
  const [copied, empty] = [join(folder, 'copy'), await mkdtemp(join(folder, 'empty-'))];
  return {
    ...node,
    url: `${certificates === undefined ? 'redis' : 'rediss'}://127.0.0.1:${node.port}`,
    /** Copies the present data; returns the folder of the copy. */
    async copyData(): Promise<string> {
      await cp(data, copied, { recursive: true });
      return copied;
    },
    /** Kills it, and starts it with a copy of its data, or without data. */
    async restartWith(copy: string | null): Promise<void> {
      service.kill('SIGKILL');
      await vi.waitUntil(() => !service.isRunning());
      await rm(data, { recursive: true });
      await cp(copy ?? empty, data, { recursive: true });
      await service.restart();
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}
