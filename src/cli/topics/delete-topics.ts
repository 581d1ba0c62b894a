import type { Admin } from 'kafkajs';
import { RollcallError } from '../../errors.ts';
import { COLLECTIONS } from '../../model/collections.ts';
import type { Assembly } from '../../session/assemble.ts';
import { sleep } from '../../runtime.ts';
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

/** Deletes topics and state of tenants that are not configured. Throws `USAGE_INVALID` if a process runs for one of them. */
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

/** Deletes topics and their subjects, `progress` last, and returns when no broker lists them. Throws `KAFKA_…`. */
export async function deleteTopics(
  assembly: Assembly,
  { topics, progress, signal }: Deletion,
): Promise<void> {
  if (topics.length === 0) return;
  const isLast = ({ suffix }: CountedTopic): number => (suffix === 'progress' ? 1 : 0);
  const names = topics.toSorted((one, other) => isLast(one) - isLast(other)).map(({ topic }) => topic);
  for (const topic of names) await removeSubject(assembly, { topic, progress });
  await withAdmin({ assembly, signal }, (admin) => deleteAll(admin, names, { progress, signal }));
}

/** Deletes topics, where they exist, and returns when no broker lists them. Throws `KAFKA_…`. */
export async function deleteAll(
  admin: Admin,
  names: readonly string[],
  { progress, signal }: Pick<Deletion, 'progress' | 'signal'>,
): Promise<void> {
  for (const topic of names) {
    signal.throwIfAborted();
    progress.update(`deleting ${topic}`);
    await deleteTopic(admin, topic);
  }
  await waitUntilGone(names, { admin, progress, sleep, signal });
}

/** A subject holds no data: when its removal fails, the topic is still deleted. */
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
      remedy: `Grant this user DELETE on the topics, or have a user with that right delete ${topic}; then give the command again.`,
      cause: error,
    });
  }
}
