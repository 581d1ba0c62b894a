import { STATE_TOPIC } from '../../../src/model/collections.ts';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import { MARKER } from './tenant-row.ts';
import type { TenantWorld } from './tenant-world.ts';

/* Checks of a whole history and of its events: invariants 7, 8 at rest, 9 and 10. */

const SHORTEST_RETRY_MS = 400;
const LONGEST_RETRY_MS = 300_000;

/** Far more than all rows of the simulated hub and their rejects. */
const MOST_RECORDS = 300;
/**
 * Each collection has at most a full sync, an incremental sync, and a request for single rows at a time; of a nested one, both
 * syncs open two scopes ahead.
 */
const MOST_REQUESTS_PER_COLLECTION = 7;

export function problemsOfWorld(world: TenantWorld): string[] {
  return [...problemsOfOwnership(world), ...problemsOfBounds(world)];
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

/** Invariant 9: no part of a row, not even its id, gets into events or errors, and from there into logs and metrics. */
export function leakedMarkers(event: PipelineEvent): string[] {
  if (event.type === 'sync-page' || event.type === 'committed') return [];
  return holdsMarker(event, 0) ? [`an event names a row: ${event.type}`] : [];
}

/** Invariant 10: a failed attempt is repeated after a while, neither at once nor after weeks. */
export function unboundedWaits(event: PipelineEvent): string[] {
  if (event.type !== 'session-failed' && event.type !== 'sync-failed') return [];
  const { retryInMs, type } = event;
  const isBounded = retryInMs === null || (retryInMs >= SHORTEST_RETRY_MS && retryInMs <= LONGEST_RETRY_MS);
  return isBounded ? [] : [`tried again in ${retryInMs} ms: ${type}`];
}

function holdsMarker(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return value.includes(MARKER);
  if (typeof value !== 'object' || value === null || depth > 5) return false;
  if (
    value instanceof Error &&
    [value.message, value.stack, value.cause].some((each) => holdsMarker(each, depth + 1))
  )
    return true;
  // Their texts name only partitions and transactions.
  return Object.entries(value).some(
    ([key, inner]) =>
      key !== 'progress' && key !== 'stats' && (key.includes(MARKER) || holdsMarker(inner, depth + 1)),
  );
}
