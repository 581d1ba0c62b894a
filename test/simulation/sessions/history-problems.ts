import type { World } from './session-history.ts';
import { hashOf, versionIn } from './simulated-row.ts';
import type { SimulatedTopics, StoredRecord, StoredTransaction } from '../parts/simulated-topics.ts';

/** Checks the topics once an incremental sync has read everything that changed (invariant 2). */
export function problemsAfterDelta({ hub, topics }: World): string[] {
  const view = topics.viewOf('users');
  return [...hub.rows.values()]
    .filter((row) => row.isReadable && hashIn(view.get(row.sourcedId)) !== hashOf(row).toString('hex'))
    .map(({ sourcedId }) => `the incremental sync missed a change: ${sourcedId}`);
}

/** Checks a whole history, and its final state. */
export function problemsOf(world: World): string[] {
  const { topics } = world;
  return [
    ...problemsOfRecords(topics.recordsOf('users')),
    ...problemsOfRecords(topics.recordsOf('rejects')),
    ...falseRemovals(world),
    ...problemsOfProgress(world),
    ...problemsOfOwnership(world),
    ...differencesFromHub(world),
    ...differencesFromIndex(world),
  ];
}

/** Invariants 4 and 8; versions of a row only rise at the hub. */
function problemsOfRecords(records: readonly StoredRecord[]): string[] {
  const problems: string[] = [];
  const ids = new Set<string>();
  const newest = new Map<string, number>();
  const present = new Set<string>();
  for (const { topic, key, body, headers } of records) {
    const what = `${topic} ${key}`;
    const id = headers['ce_id'] ?? '';
    if (ids.has(id)) problems.push(`ce_id twice: ${what}`);
    ids.add(id);
    if (body === null) {
      if (!present.delete(key)) problems.push(`removed twice: ${what}`);
      continue;
    }
    const version = versionIn(headers['content-hash'] ?? '');
    const before = newest.get(key) ?? 0;
    if (version === before) problems.push(`published twice: ${what}`);
    if (version < before) problems.push(`older after newer: ${what}`);
    newest.set(key, Math.max(before, version));
    present.add(key);
  }
  return problems;
}

/** Each removal needs a departure of its own, before it (invariant 3). */
function falseRemovals({ hub, topics }: World): string[] {
  const problems: string[] = [];
  const removals = new Map<string, number>();
  for (const { key, body, committedAtMs } of topics.recordsOf('users')) {
    if (body !== null) continue;
    const departedAtMs = hub.departuresOf(key)[removals.get(key) ?? 0];
    if (departedAtMs === undefined || departedAtMs > committedAtMs)
      problems.push(`removed, but it never left: ${key}`);
    removals.set(key, (removals.get(key) ?? 0) + 1);
  }
  return problems;
}

function problemsOfProgress({ topics }: World): string[] {
  const problems: string[] = [];
  const ids = new Set<string>();
  let sequence = 0;
  let offsets: Readonly<Record<string, number>> = {};
  for (const { progress } of topics.transactions) {
    if (progress.sequence !== sequence + 1) problems.push(`sequence: ${progress.sequence} after ${sequence}`);
    if (ids.has(progress.transactionId)) problems.push(`transaction id twice: ${progress.sequence}`);
    for (const [partition, offset] of Object.entries(offsets)) {
      const isBehind = (progress.offsets[partition] ?? -1) < offset;
      if (isBehind) problems.push(`offsets went back: ${progress.sequence}`);
    }
    ids.add(progress.transactionId);
    ({ sequence, offsets } = progress);
  }
  return problems;
}

interface OwnedWorld {
  readonly topics: Pick<SimulatedTopics, 'owners' | 'isSuperseded'> & {
    readonly transactions: readonly Pick<StoredTransaction, 'by' | 'owner' | 'progress'>[];
  };
  readonly processes: readonly { readonly number: number; readonly fate: string }[];
  readonly unnoticed: readonly number[];
}

/** Invariant 7. */
export function problemsOfOwnership({ topics, processes, unnoticed }: OwnedWorld): string[] {
  const problems = unnoticed.map((number) => `continued although it was superseded: process ${number}`);
  const changesOfOwner = topics.owners.filter((owner, at, owners) => owner !== owners[at - 1]);
  for (const [at, owner] of changesOfOwner.entries()) {
    if (changesOfOwner.indexOf(owner) < at)
      problems.push(`owned again after it was superseded: process ${owner}`);
  }
  for (const { by, owner, progress } of topics.transactions) {
    if (by !== owner) problems.push(`committed after it was superseded: process ${by}, ${progress.sequence}`);
  }
  for (const { number, fate } of processes) {
    if (fate === 'stopped' || (fate === 'OWNERSHIP_LOST' && topics.isSuperseded(number))) continue;
    problems.push(`process ${number} ended wrongly: ${fate}`);
  }
  return problems;
}

/** Invariant 5. */
function differencesFromHub({ hub, topics }: World): string[] {
  const problems: string[] = [];
  const view = topics.viewOf('users');
  const rejects = topics.viewOf('rejects');
  for (const row of hub.rows.values()) {
    const { sourcedId, isReadable } = row;
    const published = isReadable ? view.get(sourcedId) : rejects.get(`users|${sourcedId}`);
    if (hashIn(published) !== hashOf(row).toString('hex'))
      problems.push(`differs from the hub: ${sourcedId}`);
    if (isReadable && rejects.has(`users|${sourcedId}`))
      problems.push(`still among the rejects: ${sourcedId}`);
  }
  for (const key of view.keys()) if (!hub.rows.has(key)) problems.push(`left over: ${key}`);
  for (const key of rejects.keys()) {
    if (!hub.rows.has(key.slice('users|'.length))) problems.push(`left over among the rejects: ${key}`);
  }
  return problems;
}

/** Invariant 1. */
function differencesFromIndex({ index, topics }: World): string[] {
  const problems: string[] = [];
  const compare = (
    area: 'rows' | 'rejects',
    logged: ReadonlyMap<string, StoredRecord>,
    prefix: string,
  ): void => {
    const indexed = index.contents[area];
    if (indexed.size !== logged.size)
      problems.push(
        `the index differs from the log: ${indexed.size} ${area} where the topic has ${logged.size}`,
      );
    for (const [key, hash] of indexed) {
      if (hashIn(logged.get(prefix + key)) !== hash.toString('hex'))
        problems.push(`the index differs from the log: ${area} ${key}`);
    }
  };
  compare('rows', topics.viewOf('users'), '');
  compare('rejects', topics.viewOf('rejects'), 'users|');
  return problems;
}

function hashIn(record: StoredRecord | undefined): string | null {
  return record?.headers['content-hash'] ?? null;
}
