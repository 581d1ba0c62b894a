import { TransactionSize } from '../../../../src/core/transaction-size.ts';
import type { TenantLog } from '../../../../src/log/log.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';
import type { TenantState } from '../../../../src/state/index-store.ts';
import { createMemoryStore } from '../../../../src/state/memory-state.ts';
import { HubFindings } from '../../../../src/sync/hub-findings.ts';
import type { MirroredCollection } from '../../../../src/sync/settle-missing.ts';
import { CollectionWriter } from '../../../../src/table/collection-writer.ts';
import type { WriterStart } from '../../../../src/table/collection-progress.ts';
import { MissingRows } from '../../../../src/table/missing-rows.ts';
import type { Tenant, TenantCollection } from '../../../../src/table/tenant.ts';

const NOTHING: WriterStart = {
  progress: null,
  indexed: 'start',
  offsets: {},
  knownRows: 0,
  knownRejects: 0,
};

interface Given {
  readonly name?: CollectionName;
  readonly tenant?: Partial<Tenant>;
  readonly settings?: Partial<TenantCollection>;
  readonly commit: TenantLog['commit'];
  readonly runtime?: Partial<Tenant['runtime']>;
  readonly state?: TenantState;
  readonly start?: Partial<WriterStart>;
  readonly own?: Partial<MirroredCollection>;
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
  let ids = 0;
  const tenant = {
    tenantId: 'north',
    topicPrefix: 'p',
    log: { commit },
    state,
    guard: { rows: 1_000, ratio: 1 },
    confirmAfterMs: 300_000,
    scopesAhead: 0,
    runtime: {
      now: () => 0,
      random: () => 1,
      randomId: () => (ids += 1).toString(16).padStart(8, '0'),
      sleep: () => Promise.resolve(),
      ...given.runtime,
    },
    emit: () => undefined,
    ...given.tenant,
  } as unknown as Tenant;
  const settings = {
    name,
    reader: { encode: (value: unknown) => Buffer.from(JSON.stringify(value)) },
    encodeReject: (value: unknown) => Buffer.from(JSON.stringify(value)),
    size: new TransactionSize(),
    deltaEveryMs: 2_000,
    deltaOverlapMs: 0,
    fullPull: { at: '04:00', timeZone: 'Europe/Oslo' },
    ...given.settings,
  } as TenantCollection;
  const missing = await MissingRows.open(state.deletions, name, null);
  const memory = { missing, pages: own.pages ?? undefined };
  const writer = new CollectionWriter(tenant, settings, memory, { ...NOTHING, ...given.start });
  return {
    tenant,
    settings,
    writer,
    source: { begin: () => Promise.reject(new Error('no source is given')), scopeOf: () => '' },
    missing,
    pages: null,
    findings: new HubFindings(),
    inheritedWatermarkMs: null,
    requireRecords: () => Promise.resolve(),
    all: new Map(),
    ...own,
  };
}
