import type { Bench } from './bench.ts';
import { startChild, type Child } from './child-process.ts';
import { configText } from './config-text.ts';
import type { Kind } from './paired.ts';
import type { SyncRequest } from './log-process.ts';

/** Two publishers that mirror the same hub, with absences and their changes and without. */
export type Publishers = Readonly<Record<Kind, Child>>;

export const TENANT = 'north';
export const COLLECTION = 'absence-versions';

export const FULL: SyncRequest = { tenantId: TENANT, collection: COLLECTION, mode: 'FULL' };
export const INCREMENTAL: SyncRequest = { ...FULL, mode: 'INCREMENTAL' };

/** Starts a process with its own topics and keys, which it removes at its end. */
export async function startPublisher(
  bench: Bench,
  kind: Kind,
): Promise<AsyncDisposable & { readonly child: Child }> {
  const { stack, hub, print } = bench;
  const child = startChild(new URL('log-process.ts', import.meta.url), bench.signal);
  const text = configText({
    stack,
    hub,
    name: `${kind}-chains`,
    tenantIds: [TENANT],
    collections: kind === 'with' ? [COLLECTION, 'absences', 'absence-changes'] : [COLLECTION],
    hasRedis: true,
  });
  try {
    await child.call('open', text);
  } catch (error) {
    await child[Symbol.asyncDispose]();
    throw error;
  }
  return {
    child,
    async [Symbol.asyncDispose]() {
      await child
        .call('cleanUp')
        .catch(() => print(`the topics and keys written ${kind} chains could not be removed`));
      await child[Symbol.asyncDispose]();
    },
  };
}
