import type { CollectionName } from '../../../../src/model/collections.ts';
import type { ReferenceHub } from '../../../../reference-hub/start-reference-hub.ts';
import {
  configTextOf,
  newTopicPrefix,
  openMirror,
  startTestHub,
  type MirrorOptions,
} from '../../support/mirror.ts';

/** A tenant `north` with a hub, topics and keys of its own, which nothing mirrors yet. */
export interface TestTenant extends AsyncDisposable {
  readonly hub: ReferenceHub;
  readonly topicPrefix: string;
  readonly topic: (suffix: string) => string;
  readonly config: string;
  /** The same configuration with other settings. */
  configWith(options: MirrorOptions): string;
  /** Syncs each collection once, in this process, and gives the tenant up. */
  full(...collections: CollectionName[]): Promise<void>;
}

export const COLLECTIONS = ['orgs', 'courses', 'users'] as const;

export async function startTestTenant(): Promise<TestTenant> {
  const hub = await startTestHub({ students: 40, seed: 3, startMs: Date.now() });
  const topicPrefix = newTopicPrefix();
  const configWith = (options: MirrorOptions): string =>
    configTextOf(hub, topicPrefix, {
      collections: COLLECTIONS,
      ...options,
      settings: { http: { port: 0 }, ...options.settings },
    });
  return {
    hub,
    topicPrefix,
    topic: (suffix) => `${topicPrefix}.north.${suffix}`,
    config: configWith({}),
    configWith,
    async full(...collections) {
      await using mirror = await openMirror({ hub, topicPrefix, collections: COLLECTIONS });
      await mirror.full(...collections);
    },
    [Symbol.asyncDispose]: () => hub.stop(),
  };
}
