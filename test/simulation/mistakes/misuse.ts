import type { AbsenceChangeValue } from '../../../src/core/absences/event-encoder.ts';
import type { Missing } from '../../../src/core/deletions/decide-missing.ts';
import type { Hub, HubPage, ReadOptions, ScanEnd } from '../../../src/hub/hub.ts';
import type { OutgoingRecord, Ownership, TenantLog, Transaction } from '../../../src/log/log.ts';
import type {
  TransactionalProducer,
  TransactionalProducerOptions,
} from '../../../src/log/transactional-producer.ts';
import type { CollectionName, TopicSuffix } from '../../../src/model/collections.ts';
import type {
  CollectionIndex,
  IndexChange,
  IndexPosition,
  TenantState,
} from '../../../src/state/index-store.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import { changeCodec } from '../chains/chain-codecs.ts';
import { withOther } from '../parts/with-other.ts';
import type { BrokerLogOptions } from '../tenants/broker-log.ts';
import type { HubManner } from '../tenants/hub-client.ts';
import type { TenantKindName, TenantWorld } from '../tenants/tenant-world.ts';

/** A mistake put between the code under test and a simulated part, or in place of its parts. */
export interface TenantMistake {
  readonly hub?: (hub: Hub, world: TenantWorld) => Hub;
  readonly page?: (page: HubPage) => HubPage;
  readonly log?: (log: TenantLog, world: TenantWorld, process: number) => TenantLog;
  /** What a take-over reads. */
  readonly own?: (ownership: Ownership, world: TenantWorld) => Ownership;
  /** What is committed instead. */
  readonly commit?: (transaction: Transaction) => Transaction;
  readonly record?: (record: OutgoingRecord) => readonly OutgoingRecord[];
  readonly event?: (change: AbsenceChangeValue) => AbsenceChangeValue;
  /** Topics that a recovery does not read; `after`: where it begins. */
  readonly skips?: (topic: TopicSuffix, after: Readonly<Record<string, number>>) => boolean;
  readonly index?: (index: CollectionIndex, name: CollectionName, world: TenantWorld) => CollectionIndex;
  /** What is written to an index instead. */
  readonly changes?: (changes: readonly IndexChange[]) => readonly IndexChange[];
  /** What an index says of a row that is looked up. */
  readonly known?: (
    hash: Buffer | null,
    key: string,
    name: CollectionName,
    world: TenantWorld,
  ) => Buffer | null;
  readonly position?: (position: IndexPosition, name: CollectionName, world: TenantWorld) => IndexPosition;
  /** What is remembered of missing rows. */
  readonly missing?: (missing: Missing, collection: CollectionName, world: TenantWorld) => Missing;
  readonly remember?: (
    missing: Missing | null,
    before: Missing | null,
    collection: CollectionName,
    world: TenantWorld,
  ) => Missing | null;
  readonly parts?: (parts: Tenant, world: TenantWorld) => Tenant;
  /** Makes another producer than the real one. */
  readonly producer?: (options: TransactionalProducerOptions, world: TenantWorld) => TransactionalProducer;
  readonly ownership?: BrokerLogOptions['mistake'];
  /** How much goes wrong, 0 to 1, so that the mistake shows best. */
  readonly trouble?: number;
  /** A hub with which the mistake shows. */
  readonly manner?: Partial<HubManner>;
  /** Whether other afterschools are named at the end; undefined: by chance. */
  readonly namesOthers?: boolean;
  /** The keys that a person approves, given the listed ones. */
  readonly approves?: (listed: ReadonlySet<string>, world: TenantWorld) => ReadonlySet<string>;
}

/** A mistake that the code under test could make, the kind of history to plant it in, and the problem that must be found. */
export interface PlantedMistake extends TenantMistake {
  readonly name: string;
  readonly kind: TenantKindName;
  readonly finds: string;
}

/** Mistakes of one kind of history, except those that name another. */
export function plantedIn(
  kind: TenantKindName,
  mistakes: readonly (Omit<PlantedMistake, 'kind'> & { readonly kind?: TenantKindName })[],
): readonly PlantedMistake[] {
  return mistakes.map((each) => Object.assign({ kind }, each));
}

type MisusedParts = Pick<Tenant, 'hub' | 'log' | 'state'>;

/** The parts of a process, with the mistake between them and the code under test. */
export function misused(
  { hub, log, state }: MisusedParts,
  mistake: TenantMistake,
  world: TenantWorld,
  process: number,
): MisusedParts {
  return {
    hub: misusedHub(hub, mistake, world),
    log: misusedLog(log, mistake, world, process),
    state: misusedState(state, mistake, world),
  };
}

function misusedHub(hub: Hub, { hub: other, page }: TenantMistake, world: TenantWorld): Hub {
  const paged = page === undefined ? hub : withPages(hub, page);
  return other?.(paged, world) ?? paged;
}

function misusedLog(log: TenantLog, mistake: TenantMistake, world: TenantWorld, process: number): TenantLog {
  const { own, commit = (transaction) => transaction, skips, event } = mistake;
  const withEvent = (record: OutgoingRecord): OutgoingRecord =>
    event === undefined || record.topic !== 'absence-changes' || record.body === null
      ? record
      : { ...record, body: changeCodec.toBuffer(event(changeCodec.fromBuffer(record.body))) };
  const misused = withOther(log, {
    own: async (signal) => {
      const ownership = await log.own(signal);
      return own?.(ownership, world) ?? ownership;
    },
    commit: (transaction) => {
      const records = transaction.records.flatMap((each) => mistake.record?.(each) ?? [each]);
      return log.commit(commit({ ...transaction, records: records.map(withEvent) }));
    },
    read: (options) => {
      const from = options.from.filter(({ topic, after }) => skips?.(topic, after) !== true);
      return log.read({ ...options, from });
    },
  });
  return mistake.log?.(misused, world, process) ?? misused;
}

function misusedState(state: TenantState, mistake: TenantMistake, world: TenantWorld): TenantState {
  const { changes = (each) => each, position = (each) => each, known } = mistake;
  return withOther(state, {
    collection: (name: CollectionName) => {
      const index = state.collection(name);
      const other = withOther(index, {
        apply: (previous, at, some) => index.apply(previous, at, changes(some)),
        position: async () => {
          const at = await index.position();
          return at && position(at, name, world);
        },
        lookup: async (area, keys, expected) => {
          const values = await index.lookup(area, keys, expected);
          if (area !== 'rows' || known === undefined) return values;
          return values.map((value, at) => known(value, keys[at] ?? '', name, world));
        },
      });
      return mistake.index?.(other, name, world) ?? other;
    },
    deletions: withOther(state.deletions, {
      missing: async (collection: CollectionName) => {
        const missing = await state.deletions.missing(collection);
        return missing && (mistake.missing?.(missing, collection, world) ?? missing);
      },
      setMissing: async (collection: CollectionName, missing: Missing | null) => {
        const { remember } = mistake;
        const before = remember === undefined ? null : await state.deletions.missing(collection);
        const kept = remember === undefined ? missing : remember(missing, before, collection, world);
        await state.deletions.setMissing(collection, kept);
      },
    }),
  });
}

/** A hub whose pages, and their end, are read otherwise. */
export function withPages(
  hub: Hub,
  page: (page: HubPage, options: ReadOptions) => HubPage,
  end: (end: ScanEnd, options: ReadOptions) => ScanEnd = (each) => each,
): Hub {
  return withOther(hub, {
    async *readPages(options): AsyncGenerator<HubPage, ScanEnd> {
      const pages = hub.readPages(options);
      for (;;) {
        const step = await pages.next();
        if (step.done === true) return end(step.value, options);
        yield page(step.value, options);
      }
    },
  });
}

export function reversed(page: HubPage): HubPage {
  return { ...page, rows: page.rows.toReversed() };
}

const hereOf = async (index: CollectionIndex): Promise<string | null> =>
  (await index.position())?.transactionId ?? null;

/** An index that is read and written wherever it is. */
export function readAnywhere(index: CollectionIndex): CollectionIndex {
  return withOther(index, {
    lookup: async (area, keys) => index.lookup(area, keys, await hereOf(index)),
    apply: async (_previous, position, changes) => index.apply(await hereOf(index), position, changes),
  });
}

/** An index that claims to be at the end of the log, wherever it is. */
export function alwaysCurrent(
  index: CollectionIndex,
  name: CollectionName,
  { broker }: TenantWorld,
): CollectionIndex {
  return withOther(readAnywhere(index), {
    position: async () => {
      const position = await index.position();
      const newest = broker.transactions.findLast(({ progress }) => progress.collection === name)?.progress;
      return position && newest ? { ...position, transactionId: newest.transactionId } : null;
    },
  });
}
