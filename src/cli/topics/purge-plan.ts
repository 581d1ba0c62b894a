import type { Admin } from 'kafkajs';
import type { LeftOfAfterschool } from '../../core/left-over.ts';
import type { CollectionName } from '../../model/collections.ts';
import { isChainCollection } from '../../model/collections.ts';
import { compositeKey, splitCompositeKey } from '../../model/keys.ts';
import type { Assembly } from '../../pipeline/assemble.ts';
import { TopicReader } from '../../pipeline/verify/topic-reader.ts';
import { readKnownProgress } from '../../log/progress-reader.ts';
import { findLeftOver, wantedUnder, type CountedTopic } from '../left-over/find-left-over.ts';
import { withAdmin } from '../with-assembly.ts';
import type { PurgeTarget } from './purge-target.ts';

const AFTERSCHOOL_USERS = 'afterschool-users';
const NOTHING: LeftOfAfterschool = { rows: 0, rejects: 0 };

/** What there is of a target. */
export interface Found {
  readonly target: PurgeTarget;
  readonly topics: readonly CountedTopic[];
  /** Of the afterschool. */
  readonly left: LeftOfAfterschool;
  /** Collections of which `progress` tells. */
  readonly toldOf: readonly CollectionName[];
  readonly isNothing: boolean;
}

/** Looks for what a target names. Changes nothing. Throws `KAFKA_…`, `REGISTRY_…`. */
export async function lookUpTarget(
  assembly: Assembly,
  target: PurgeTarget,
  signal: AbortSignal,
): Promise<Found> {
  return withAdmin({ assembly, signal }, async (admin) => {
    if (target.kind === 'afterschool') {
      const left = await countLeft(assembly, { admin, target, signal });
      return { target, topics: [], left, toldOf: [], isNothing: left.rows + left.rejects === 0 };
    }
    const configured = wantedUnder(assembly.config);
    if (target.kind === 'tenants') {
      const { topicPrefix, tenantId } = target;
      // Under another prefix nothing is wanted, whatever the tenants are called.
      const isOwn = topicPrefix === configured.topicPrefix && configured.tenants.has(tenantId ?? '');
      const wanted = isOwn ? configured : { topicPrefix, tenants: new Map<string, ReadonlySet<string>>() };
      const { topics } = await findLeftOver(admin, wanted);
      const named = topics.filter((each) => tenantId === null || each.tenantId === tenantId);
      return { target, topics: named, left: NOTHING, toldOf: [], isNothing: named.length === 0 };
    }
    const { tenantId, collections } = target;
    const suffixes = new Set<string>(collections);
    if (collections.some(isChainCollection)) suffixes.add('absence-state');
    const { topics } = await findLeftOver(admin, configured);
    const named = topics.filter((each) => each.tenantId === tenantId && suffixes.has(each.suffix));
    const { kafka, registry, config } = assembly;
    const { topicPrefix } = config.kafka;
    const parts = { kafka, admin, registry, topicPrefix, tenantIds: [tenantId], signal };
    const known = (await readKnownProgress(parts)).get(tenantId)?.progress;
    const toldOf = collections.filter((each) => known?.has(each) === true);
    return { target, topics: named, left: NOTHING, toldOf, isNothing: named.length + toldOf.length === 0 };
  });
}

/** By the topics: without Redis nothing else tells. */
async function countLeft(
  { kafka, config }: Assembly,
  options: { admin: Admin; target: PurgeTarget & { kind: 'afterschool' }; signal: AbortSignal },
): Promise<LeftOfAfterschool> {
  const { admin, target, signal } = options;
  const first = compositeKey(target.afterschool, '');
  const keys = { [AFTERSCHOOL_USERS]: new Set<string>(), rejects: new Set<string>() };
  const parts = { kafka, admin, topicPrefix: config.kafka.topicPrefix, tenantId: target.tenantId };
  const topics = [AFTERSCHOOL_USERS, 'rejects'] as const;
  const reading = new TopicReader(parts, topics, async ({ topic, key, value }) => {
    const [collection, row] = topic === 'rejects' ? (splitCompositeKey(key) ?? []) : [AFTERSCHOOL_USERS, key];
    if (collection !== AFTERSCHOOL_USERS || row?.startsWith(first) !== true) return;
    const own = keys[topic === 'rejects' ? topic : AFTERSCHOOL_USERS];
    if (value === null) own.delete(row);
    else own.add(row);
  });
  await reading.readOn(signal);
  return { rows: keys[AFTERSCHOOL_USERS].size, rejects: keys.rejects.size };
}
