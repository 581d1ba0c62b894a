import type { CollectionName } from '../../../../src/model/collections.ts';
import {
  configTextOf,
  newTopicPrefix,
  openMirror,
  startTestHub,
  type MirrorOptions,
} from '../../support/mirror.ts';

export const COLLECTIONS = ['orgs', 'courses', 'users'] as const;

/** A tenant `north` with a hub, topics and keys of its own, which nothing mirrors yet. */
export async function startTestTenant() {
  const hub = await startTestHub({ students: 40, seed: 3, startMs: Date.now() });
  const topicPrefix = newTopicPrefix();
  const configWith = (options: MirrorOptions): string =>
    configTextOf(hub, topicPrefix, { collections: COLLECTIONS, ...options });
  return {
    hub,
    topicPrefix,
    topic: (suffix: string): string => `${topicPrefix}.north.${suffix}`,
    config: configWith({}),
    /** The same configuration with other settings. */
    configWith,
    /** Syncs each collection once, in this process, and gives the tenant up. */
    async full(...collections: CollectionName[]): Promise<void> {
      await using mirror = await openMirror({ hub, topicPrefix, collections: COLLECTIONS });
      await mirror.full(...collections);
    },
    [Symbol.asyncDispose]: () => hub.stop(),
  };
}
