import type { LeftOfAfterschool } from '../../core/left-over.ts';
import { isChainCollection, STATE_TOPIC, type CollectionName } from '../../model/collections.ts';
import { compositeKey, splitCompositeKey } from '../../model/keys.ts';
import type { Assembly } from '../../pipeline/assemble.ts';
import { TopicReader } from '../../pipeline/verify/topic-reader.ts';
import { readKnownProgress } from '../../log/progress-reader.ts';
import { findLeftOver, wantedUnder, type CountedTopic } from '../left-over/find-left-over.ts';
import { withAdmin } from '../with-assembly.ts';
import type { PurgeTarget } from './purge-target.ts';

const AFTERSCHOOL_USERS = 'afterschool-users';
const NOTHING: LeftOfAfterschool = { rows: 0, rejects: 0 };

/** The topics, rows and rejects that exist of a target. */
export interface Found {
  readonly target: PurgeTarget;
  readonly topics: readonly CountedTopic[];
  /** Rows and rejects of the afterschool. */
  readonly records: LeftOfAfterschool;
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
    if (target.kind === 'afterschool') {
      const records = await countRecords(assembly, { target, signal });
      const isNothing = records.rows + records.rejects === 0;
      return { target, topics: [], records, inProgress: [], isNothing };
    }
    const configured = wantedUnder(assembly.config);
    if (target.kind === 'tenants') {
      const { topicPrefix, tenantId } = target;
      // Under another prefix the configuration wants nothing, not even for tenants of the same name.
      const isOwn = topicPrefix === configured.topicPrefix && configured.tenants.has(tenantId ?? '');
      const wanted = isOwn ? configured : { topicPrefix, tenants: new Map<string, ReadonlySet<string>>() };
      const { topics } = await findLeftOver(admin, wanted);
      const named = topics.filter((each) => tenantId === null || each.tenantId === tenantId);
      return { target, topics: named, records: NOTHING, inProgress: [], isNothing: named.length === 0 };
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
    return { target, topics: named, records: NOTHING, inProgress, isNothing };
  });
}

/** Counts in the topics, as without Redis there is no other source. */
async function countRecords(
  assembly: Assembly,
  options: { target: PurgeTarget & { kind: 'afterschool' }; signal: AbortSignal },
): Promise<LeftOfAfterschool> {
  const { target, signal } = options;
  const first = compositeKey(target.afterschool, '');
  const keys = { [AFTERSCHOOL_USERS]: new Set<string>(), rejects: new Set<string>() };
  const { tenantId } = target;
  const log = assembly.tenant(tenantId).openReadOnlyLog();
  const parts = { log, topicPrefix: assembly.config.kafka.topicPrefix, tenantId };
  const topics = [AFTERSCHOOL_USERS, 'rejects'] as const;
  const reader = new TopicReader(parts, topics, async ({ topic, key, value }) => {
    const [collection, row] = topic === 'rejects' ? (splitCompositeKey(key) ?? []) : [AFTERSCHOOL_USERS, key];
    if (collection !== AFTERSCHOOL_USERS || row?.startsWith(first) !== true) return;
    const own = keys[topic === 'rejects' ? topic : AFTERSCHOOL_USERS];
    if (value === null) own.delete(row);
    else own.add(row);
  });
  try {
    await reader.readOn(signal);
  } finally {
    await log.close();
  }
  return { rows: keys[AFTERSCHOOL_USERS].size, rejects: keys.rejects.size };
}
