import { STATE_TOPIC, type TopicSuffix } from '../../../src/model/collections.ts';
import { offsetsWithout, type Progress } from '../../../src/model/progress.ts';
import type { TenantWorld } from './tenant-world.ts';

/* Checks a whole history: invariants 1 (the progress records), 7, 8 at rest, and 10. */

/** Far more than all rows of the simulated hub and their rejects. */
const MOST_RECORDS = 300;
/**
 * Each collection has at most a full sync, an incremental sync, and a request for single rows at a time; of a nested one, both
 * syncs open two scopes ahead.
 */
const MOST_REQUESTS_PER_COLLECTION = 7;

export function problemsOfWorld(world: TenantWorld): string[] {
  return [
    ...problemsOfIds(world),
    ...problemsOfProgress(world),
    ...problemsOfOwnership(world),
    ...problemsOfBounds(world),
  ];
}

/** Invariant 8: once the hub is at rest, re-stamps, a restart and a lost index publish nothing. */
export function problemsOfQuiet({ broker, quietSince }: TenantWorld): string[] {
  return [...broker.history].flatMap(([topic, records]) =>
    records.flatMap(({ key, transaction }) =>
      transaction < quietSince || topic === STATE_TOPIC
        ? []
        : [`nothing had changed: ${topic} ${key} in transaction ${transaction}`],
    ),
  );
}

/** Contract: unique within the topic. The changelog has none. */
function problemsOfIds({ broker }: TenantWorld): string[] {
  return [...broker.history].flatMap(([topic, records]) => {
    const ids = new Set(records.map(({ headers }) => headers['ce_id'] ?? ''));
    return topic === STATE_TOPIC || ids.size === records.length ? [] : [`ce_id twice: ${topic}`];
  });
}

/** Consumers use progress to know how far to read: it has no gap, repeats nothing, and goes back only for a lost topic. */
function problemsOfProgress({ broker, losses }: TenantWorld): string[] {
  const problems: string[] = [];
  const ids = new Set<string>();
  const last = new Map<string, Progress>();
  for (const { progress } of broker.transactions) {
    const { collection, sequence, transactionId, offsets } = progress;
    const before = last.get(collection);
    if (sequence !== (before?.sequence ?? 0) + 1)
      problems.push(`sequence: ${collection} ${sequence} after ${before?.sequence}`);
    if (ids.has(transactionId)) problems.push(`transaction id twice: ${collection} ${sequence}`);
    ids.add(transactionId);
    // A changelog that was lost begins again at 0; whether it is complete, its replay shows.
    for (const [name, offset] of Object.entries(offsetsWithout(before?.offsets ?? {}, [STATE_TOPIC]))) {
      if ((offsets[name] ?? -1) >= offset || isLost(losses, name)) continue;
      problems.push(`offsets went back: ${collection} ${sequence}`);
    }
    last.set(collection, progress);
  }
  return problems;
}

function isLost(losses: TenantWorld['losses'], partition: string): boolean {
  return losses.some(({ topic }: { topic: TopicSuffix }) => partition.includes(`.${topic}/`));
}

/** Invariant 10. */
function problemsOfBounds({ broker, client, collections }: TenantWorld): string[] {
  const problems: string[] = [];
  for (const { records, progress } of broker.transactions)
    if (records > MOST_RECORDS)
      problems.push(`${records} records in one transaction: ${progress.collection}`);
  if (client.mostUnderWay > MOST_REQUESTS_PER_COLLECTION * collections.length)
    problems.push(`${client.mostUnderWay} requests at a time`);
  return problems;
}

/** Invariant 7. */
function problemsOfOwnership({ broker, processes }: TenantWorld): string[] {
  const problems: string[] = [];
  const changesOfOwner = broker.owners.filter((owner, at, owners) => owner !== owners[at - 1]);
  for (const [at, owner] of changesOfOwner.entries()) {
    if (changesOfOwner.indexOf(owner) < at)
      problems.push(`owned again after it was superseded: process ${owner}`);
  }
  for (const { by, owner, progress } of broker.transactions) {
    if (by !== owner) problems.push(`committed after it was superseded: process ${by}, ${progress.sequence}`);
  }
  for (const { number, fate } of processes) {
    if (fate === 'stopped' || (fate === 'OWNERSHIP_LOST' && broker.isSuperseded(number))) continue;
    problems.push(`process ${number} ended wrongly: ${fate}`);
  }
  return problems;
}
