import { SeenKeys } from '../../../../src/core/seen-keys.ts';
import { newSyncStats } from '../../../../src/core/sync-stats.ts';
import { TransactionSize } from '../../../../src/core/transaction-size.ts';
import type { Committed, Transaction } from '../../../../src/log/log.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';
import { withOffsets, type SyncMode } from '../../../../src/model/progress.ts';
import type { TenantState } from '../../../../src/state/index-store.ts';
import { createMemoryStore } from '../../../../src/state/memory-state.ts';
import { turn } from '../../../../src/runtime.ts';
import { HubFindings } from '../../../../src/sync/hub-findings.ts';
import type { MirroredCollection } from '../../../../src/sync/sync.ts';
import type { ActiveSync } from '../../../../src/table/active-sync.ts';
import { CollectionWriter } from '../../../../src/table/collection-writer.ts';
import type { WriterStart } from '../../../../src/table/collection-progress.ts';
import { Deletions } from '../../../../src/table/deletions.ts';
import type { View } from '../../../../src/table/table.ts';
import type { Tenant, TenantCollection } from '../../../../src/table/tenant.ts';

interface Given {
  readonly name?: CollectionName;
  readonly tenant?: Partial<Tenant>;
  readonly settings?: Partial<TenantCollection>;
  /** What a commit does, and what it says of it other than that it took no time and had no offsets. */
  readonly commit: (transaction: Transaction) => Partial<Committed> | Promise<Partial<Committed>>;
  readonly runtime?: Partial<Tenant['runtime']>;
  readonly state?: TenantState;
  readonly start?: Partial<WriterStart>;
  readonly own?: Partial<MirroredCollection>;
  /** What is derived from its rows. */
  readonly view?: (tenant: Tenant) => View;
}

/** A collection of a tenant in memory, with an empty index unless `state` has one. What a test does not give does nothing. */
export async function madeCollection(given: Given): Promise<MirroredCollection> {
  const { name = 'users', commit, own = {} } = given;
  const state = given.state ?? createMemoryStore().tenant('north');
  const index = state.collection(name);
  if ((await index.position()) === null) {
    const replay = await index.rebuild();
    await replay.finish({ sequence: 0, transactionId: 'start', committedAtMs: 0, offsets: {} });
  }
  const indexed = (await index.position())?.transactionId ?? 'start';
  const knownRows = await index.count('rows');
  let ids = 0;
  const tenant = {
    tenantId: 'north',
    topicPrefix: 'p',
    log: {
      async commit(transaction: Transaction) {
        const progress = withOffsets(transaction.progress, {});
        const { derived = [] } = transaction;
        const committed = { progress, derived, committedAtMs: 0, tookMs: 0 };
        return Object.assign(committed, await commit(transaction));
      },
    },
    state,
    guard: { rows: 1_000, ratio: 1 },
    confirmAfterMs: 300_000,
    scopesAhead: 0,
    runtime: {
      now: () => 0,
      random: () => 1,
      randomId: () => (ids += 1).toString(16).padStart(8, '0'),
      sleep: () => Promise.resolve(),
      turn,
      ...given.runtime,
    },
    emit: () => undefined,
    ...given.tenant,
  } as unknown as Tenant;
  const settings = {
    name,
    reader: { encode: (value: unknown) => Buffer.from(JSON.stringify(value)), mapping: null },
    encodeReject: (value: unknown) => Buffer.from(JSON.stringify(value)),
    size: new TransactionSize(),
    incrementalEveryMs: 2_000,
    incrementalOverlapMs: 0,
    fullSync: { at: '04:00', timeZone: 'Europe/Oslo' },
    ...given.settings,
  } as TenantCollection;
  const deletions = await Deletions.open(state.deletions, name, given.start?.progress ?? null);
  const memory = { deletions, pages: own.pages, view: given.view?.(tenant) };
  const start = { progress: null, indexed, offsets: {}, knownRows, knownRejects: 0, ...given.start };
  const writer = new CollectionWriter(tenant, settings, memory, start);
  return {
    tenant,
    settings,
    writer,
    source: {
      begin: () => Promise.reject(new Error('no source is given')),
      scopeOf: () => '',
      rejectKeyOf: (scope) => scope,
    },
    deletions,
    pages: undefined,
    findings: new HubFindings(),
    requireRecords: () => Promise.resolve(),
    all: new Map(),
    ...own,
  };
}

/** A sync that is running. */
export function madeSync(mode: SyncMode, given: Partial<ActiveSync> = {}): ActiveSync {
  const isFull = mode === 'FULL';
  const keys = () => (isFull ? new SeenKeys(1) : null);
  return {
    stats: newSyncStats({ syncId: `sync-${mode}`, mode, startedAtMs: 0 }),
    isFull,
    seen: new SeenKeys(1),
    seenByOthers: keys(),
    seenRejects: keys(),
    readVersion: 0,
    ...given,
  };
}
