import { isChainCollection, STATE_TOPIC, type CollectionName } from '../../model/collections.ts';
import type { Assembly } from '../../session/assemble.ts';
import { readKnownProgress } from '../../log/progress-reader.ts';
import { findLeftOver, wantedUnder, type CountedTopic } from '../left-over/find-left-over.ts';
import { withAdmin } from '../with-assembly.ts';
import type { PurgeTarget } from './purge-target.ts';

/** What exists of a target. */
export interface Found {
  readonly target: PurgeTarget;
  readonly topics: readonly CountedTopic[];
  /** Collections with a record in `progress`. */
  readonly inProgress: readonly CollectionName[];
  readonly isNothing: boolean;
}

/** Finds what a target names. Changes nothing. Throws `KAFKA_…`, `REGISTRY_…`. */
export async function findTarget(
  assembly: Assembly,
  target: PurgeTarget,
  signal: AbortSignal,
): Promise<Found> {
  return withAdmin({ assembly, signal }, async (admin) => {
    const configured = wantedUnder(assembly.config);
    if (target.kind === 'tenants') {
      const { topicPrefix, tenantId } = target;
      // Under another prefix the configuration wants nothing, not even for tenants of the same name.
      const isOwn = topicPrefix === configured.topicPrefix && configured.tenants.has(tenantId ?? '');
      const wanted = isOwn ? configured : { topicPrefix, tenants: new Map<string, ReadonlySet<string>>() };
      const { topics } = await findLeftOver(admin, wanted);
      const named = topics.filter((each) => tenantId === null || each.tenantId === tenantId);
      return { target, topics: named, inProgress: [], isNothing: named.length === 0 };
    }
    const { tenantId, collections } = target;
    const suffixes = new Set<string>(collections);
    if (collections.some(isChainCollection)) suffixes.add(STATE_TOPIC);
    const { topics } = await findLeftOver(admin, configured);
    const named = topics.filter((each) => each.tenantId === tenantId && suffixes.has(each.suffix));
    const { kafka, registry, config } = assembly;
    const { topicPrefix } = config.kafka;
    const parts = { kafka, admin, registry, topicPrefix, tenantIds: [tenantId], signal };
    const known = (await readKnownProgress(parts)).get(tenantId)?.progress;
    const inProgress = collections.filter((each) => known?.has(each) === true);
    const isNothing = named.length + inProgress.length === 0;
    return { target, topics: named, inProgress, isNothing };
  });
}
