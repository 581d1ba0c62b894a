import type { Admin } from 'kafkajs';
import { RollcallError } from '../../errors.ts';
import { COLLECTIONS } from '../../model/collections.ts';
import type { Assembly } from '../../pipeline/assemble.ts';
import { sleep } from '../../pipeline/tenant.ts';
import { kafkaError } from '../../log/kafka-errors.ts';
import { requireNoOwner } from '../as-owner.ts';
import type { CountedTopic } from '../left-over/find-left-over.ts';
import type { ProgressLine } from '../progress-line.ts';
import { withAdmin } from '../with-assembly.ts';
import { waitUntilGone } from './wait-until-gone.ts';

interface Deletion {
  readonly topics: readonly CountedTopic[];
  readonly progress: ProgressLine;
  readonly signal: AbortSignal;
}

/** All that is kept of tenants that are not configured. Throws `USAGE_INVALID` where a process runs for one of them. */
export async function purgeTenants(assembly: Assembly, deletion: Deletion): Promise<void> {
  const tenants = Map.groupBy(deletion.topics, ({ tenantId }) => tenantId);
  await assembly.store.ready();
  for (const tenantId of tenants.keys())
    await requireNoOwner(assembly, { tenantId, signal: deletion.signal });
  for (const [tenantId, topics] of tenants) {
    const state = assembly.store.tenant(tenantId);
    for (const collection of COLLECTIONS) await state.forget(collection);
    await deleteTopics(assembly, { ...deletion, topics });
  }
}

/** Topics with their subjects, and returns once they are gone; `progress` goes last. Throws `KAFKA_…`. */
export async function deleteTopics(
  assembly: Assembly,
  { topics, progress, signal }: Deletion,
): Promise<void> {
  if (topics.length === 0) return;
  const isLast = ({ suffix }: CountedTopic): number => (suffix === 'progress' ? 1 : 0);
  const names = topics.toSorted((one, other) => isLast(one) - isLast(other)).map(({ topic }) => topic);
  for (const topic of names) await removeSubject(assembly, { topic, progress });
  await withAdmin({ assembly, signal }, async (admin) => {
    for (const topic of names) {
      signal.throwIfAborted();
      progress.update(`deleting ${topic}`);
      await deleteTopic(admin, topic);
    }
    await waitUntilGone(names, { admin, progress, sleep, signal });
  });
}

/** A subject holds no data: one that stays is no reason to keep what does. */
async function removeSubject(
  { registry }: Assembly,
  { topic, progress }: { topic: string; progress: ProgressLine },
): Promise<void> {
  const subject = `${topic}-value`;
  try {
    await registry.removeSubject(subject);
  } catch (error) {
    if (!(error instanceof RollcallError)) throw error;
    progress.print(`! the subject ${subject} stays in the registry: ${error.message}`);
  }
}

async function deleteTopic(admin: Admin, topic: string): Promise<void> {
  try {
    await admin.deleteTopics({ topics: [topic] });
  } catch (error) {
    const known = kafkaError(error, `deleting ${topic}`);
    if (known.code === 'KAFKA_TOPIC_MISSING') return;
    if (known.code !== 'KAFKA_REFUSED') throw known;
    throw new RollcallError('KAFKA_REFUSED', known.message, {
      remedy: `Grant this user DELETE on the topics, or have somebody delete ${topic} who may; then give the command again.`,
      cause: error,
    });
  }
}
