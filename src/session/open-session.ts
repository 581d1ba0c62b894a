import { RollcallError } from '../errors.ts';
import type { TenantLog, Transaction } from '../log/log.ts';
import { STATE_TOPIC, type CollectionName } from '../model/collections.ts';
import { recoverCollections } from '../recovery/recover-collections.ts';
import type { CollectionWriter } from '../table/collection-writer.ts';
import { addRunner, type TransactionSizes } from './add-runner.ts';
import { Offer } from '../timetable/sync-timetable.ts';
import type { CollectionRunner } from '../timetable/collection-runner.ts';
import { IdentityCheck } from '../sync/identity.ts';
import type { Tenant } from './tenant.ts';
import type { WriterStart } from '../table/collection-progress.ts';

/** A tenant that this process owns, with its index equal to the log. Ends with the first error of the log or index. */
export interface TenantSession {
  readonly runners: ReadonlyMap<CollectionName, CollectionRunner>;
  readonly writers: ReadonlyMap<CollectionName, CollectionWriter>;
}

/**
 * Takes a tenant over and recovers it: topics, schemas, fence, index (design, "Kafka is the truth"). `sizes`: what earlier
 * sessions have learned.
 */
export async function openSession(
  parts: Tenant,
  signal: AbortSignal,
  sizes: TransactionSizes = new Map(),
): Promise<TenantSession> {
  await parts.prepare();
  const ownership = await parts.log.own(signal);
  parts.emit({ type: 'owned', owner: ownership.owner });
  const starts = await recoverCollections(
    { ...parts, collections: parts.collections.map(({ name }) => name) },
    ownership,
    signal,
  );
  reportHeld(parts, starts);
  const runners = new Map<CollectionName, CollectionRunner>();
  const writers = new Map<CollectionName, CollectionWriter>();
  const session = {
    parts,
    commit: oneCommitAtATime(parts),
    signal,
    sizes,
    writers,
    runners,
    identity: new IdentityCheck(),
  };
  const notOffered = await parts.state.deletions.notOffered();
  for (const collection of parts.collections) {
    const start = starts.get(collection.name);
    if (start === undefined) throw new Error(`${collection.name} was not caught up`);
    const offer = new Offer(collection.name, parts.state.deletions, notOffered.has(collection.name));
    await addRunner(session, { collection, start, offer });
  }
  for (const writer of writers.values()) await writer.importChangelog();
  return { runners, writers };
}

/** Reports the removals that waited for a decision before this process. */
function reportHeld({ emit }: Tenant, starts: ReadonlyMap<CollectionName, WriterStart>): void {
  for (const [collection, { progress }] of starts) {
    const rows = progress?.rowsWithheld ?? 0;
    emit({ type: 'deletion', event: { kind: 'waiting', collection, rows } });
  }
}

/** The changelog is internal, so its records do not count. */
function countPublic({ records }: Transaction): number {
  return records.reduce((count, { topic }) => count + Number(topic !== STATE_TOPIC), 0);
}

/** Commits the transactions of all collections one after another, and reports each; the log refuses those after a failure. */
function oneCommitAtATime({ log, runtime: { now }, emit }: Tenant): TenantLog['commit'] {
  let last: Promise<unknown> = Promise.resolve();
  return (transaction) => {
    const committed = last.then(async () => {
      const startedAtMs = now();
      const { collection } = transaction.progress;
      try {
        const result = await log.commit(transaction);
        const durationMs = now() - startedAtMs;
        emit({ type: 'committed', collection, records: countPublic(transaction), durationMs });
        return result;
      } catch (error) {
        if (error instanceof RollcallError && error.code === 'KAFKA_OUTCOME_UNKNOWN')
          emit({ type: 'commit-failed', collection, durationMs: now() - startedAtMs });
        throw error;
      }
    });
    last = committed.catch(() => undefined);
    return committed;
  };
}
