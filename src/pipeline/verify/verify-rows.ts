import { randomInt } from 'node:crypto';
import { canVerifyIdentity, judgeOverlap } from '../../core/tenant-identity.ts';
import type { KeyedRow } from '../../core/page-decision.ts';
import type { Difference, DifferenceKind } from '../../core/verify/difference.ts';
import { RowComparison, type TopicView } from '../../core/verify/row-comparison.ts';
import type { TopicEntry } from '../../core/verify/topic-entry.ts';
import { RollcallError } from '../../errors.ts';
import type { CollectionName } from '../../model/collections.ts';
import { WRONG_TENANT_REMEDY } from '../tenant-identity.ts';
import type { TenantCollection } from '../tenant-parts.ts';
import { foreseeWithholding } from './foresee-withholding.ts';
import { hubRows, wantedSize, type HubRows } from './hub-rows.ts';
import { readUntilComplete, type Doubt } from './read-until-complete.ts';
import { confirmDifferences } from './confirm-differences.ts';
import { TopicReader } from './topic-reader.ts';
import { hashedAreas, verifyIndex } from './verify-index.ts';
import { takeRecord, type CollectionReport, type VerifyTools } from './verify-tools.ts';

/** Records between two progress reports. */
const REPORT_EVERY = 1_000;
const SEEDS = 2 ** 31;

/** Compares a collection whose records are rows of a list. Throws `HUB_…`, `KAFKA_…`, `REGISTRY_…`, `INDEX_…`. */
export async function verifyRows(
  tools: VerifyTools,
  collection: TenantCollection,
  options: {
    readonly onRow?: ((row: KeyedRow) => void) | undefined;
    readonly signal: AbortSignal;
  },
): Promise<CollectionReport> {
  const { name } = collection;
  const { signal, onRow } = options;
  const view: TopicView = { rows: new Map(), rejects: tools.rejects.of(name) };
  const topic = readerOf(tools, name, view.rows);
  const readOn = async (): Promise<void> => {
    await topic.readOn(signal);
    await tools.rejects.readOn(signal);
  };
  await readOn();
  const hub = hubRows(tools.parts, collection);
  const comparison = new RowComparison(view, { seed: randomInt(SEEDS), skipsEmpty: false });
  const known = wantedSize(view.rows, hub);
  const doubt = await readHub(tools, { name, hub, comparison, view, onRow, signal });
  const isWrongTenant = canVerifyIdentity(known) && whoseRows(comparison, known) === 'wrong-tenant';
  const { candidates } = comparison;
  const confirmed = await confirmDifferences(tools, {
    collection: name,
    candidates,
    view,
    hub,
    readOn,
    signal,
  });
  const { differences, why: foreseen } = isWrongTenant
    ? { differences: confirmed.differences.map(pendingAsWrong), why: null }
    : await foreseeWithholding(tools, collection, {
        differences: confirmed.differences,
        isLoss: ({ kind, key }) =>
          kind === 'left-over' || (kind === 'different' && confirmed.becameEmpty.has(key)),
        topicKeys: wantedSize(view.rows, hub),
      });
  const index = await verifyIndex(tools, { collection: name, areas: hashedAreas(view), readOn, signal });
  const counts = { met: comparison.keysMet, known, ofThem: comparison.keysKnown };
  return {
    collection: name,
    ...verdictOf({
      doubt,
      isEmptyDecided: doubt?.isEmpty === true && confirmed.differences.every(isPresentOrWithheld),
      wrongTenant: isWrongTenant ? counts : null,
      wasComplete: confirmed.wasComplete,
    }),
    foreseen,
    hubRows: comparison.hubRows,
    topicKeys: view.rows.size,
    equal: comparison.hubRows - differences.filter(({ kind }) => OF_THE_HUB.has(kind)).length,
    settled: confirmed.resolved,
    indexSkipped: index.skipped,
    differences: [
      ...differences,
      ...notConfigured(name, view, hub),
      ...indexDifferences(name, index.keys, differences),
    ],
  };
}

function isPresentOrWithheld({ kind, state }: Difference): boolean {
  return kind !== 'left-over' || state === 'withheld';
}

/** The records of afterschools that the configuration no longer names. */
function notConfigured(collection: CollectionName, view: TopicView, hub: HubRows): Difference[] {
  const keysIn = (area: keyof TopicView): string[] =>
    [...view[area].keys()].filter((key) => !hub.isWanted(key));
  const state = 'not-configured';
  return [
    ...keysIn('rows').map((key): Difference => ({ collection, key, kind: 'left-over', state })),
    ...keysIn('rejects').map((key): Difference => ({ collection, key, kind: 'reject-left-over', state })),
  ];
}

/** Reads the hub into the comparison until all rows are seen; returns the doubt if that fails, else null. */
async function readHub(
  tools: VerifyTools,
  options: {
    readonly name: CollectionName;
    readonly hub: HubRows;
    readonly comparison: RowComparison;
    readonly view: TopicView;
    readonly onRow: ((row: KeyedRow) => void) | undefined;
    readonly signal: AbortSignal;
  },
): Promise<Doubt | null> {
  const { name, hub, comparison, view, onRow, signal } = options;
  const startedAtMs = tools.parts.now();
  const known = wantedSize(view.rows, hub);
  const doubt = await readUntilComplete(known + view.rejects.size, async (firstStartedAtMs) => {
    const sinceMs = firstStartedAtMs ?? startedAtMs;
    let rows = 0;
    let news = 0;
    let oldNews = 0;
    const scan = await hub.read((page) => {
      for (const each of page) {
        const isNew = comparison.take(each);
        onRow?.(each);
        if (!isNew) continue;
        news += 1;
        const { modifiedAtMs } = each.decoded;
        if (modifiedAtMs === null || modifiedAtMs < sinceMs) oldNews += 1;
      }
      rows += page.length;
      tools.onProgress({ collection: name, what: 'rows of the hub', count: rows });
    }, signal);
    if (scan === null) throw new TypeError(`${name} is no list`);
    return { scan, news, oldNews };
  }).catch((error: unknown) => {
    throw withKeys(error, name, known);
  });
  comparison.finish((_area, key) => hub.isWanted(key));
  return doubt;
}

/** Judges by all rows. `knownRows`: number of keys in the topic before the hub was read. */
function whoseRows(
  { keysMet, keysKnown }: RowComparison,
  knownRows: number,
): 'own' | 'wrong-tenant' | 'unsure' {
  return judgeOverlap({ rows: keysMet, knownAmongThem: keysKnown, knownRows, pages: 1, isAll: true });
}

/** No sync publishes rows that may be another tenant's, so a pending difference will stay. */
function pendingAsWrong(difference: Difference): Difference {
  return difference.state === 'pending' ? { ...difference, state: 'wrong' } : difference;
}

function verdictOf(found: {
  readonly doubt: Doubt | null;
  /** The hub says that it has no rows, and all removals are already withheld for a decision. */
  readonly isEmptyDecided: boolean;
  readonly wrongTenant: { readonly met: number; readonly known: number; readonly ofThem: number } | null;
  readonly wasComplete: boolean;
}): Pick<CollectionReport, 'outcome' | 'why' | 'remedy'> {
  const { doubt, isEmptyDecided, wrongTenant, wasComplete } = found;
  if (doubt !== null) {
    const why = doubt.isEmpty ? EMPTY_LIST : `not all rows of the hub were seen: ${doubt.why}`;
    return { outcome: isEmptyDecided ? 'compared' : 'unproven', why, remedy: UNPROVEN_REMEDY };
  }
  if (wrongTenant !== null) {
    const { met, known, ofThem } = wrongTenant;
    const why = `almost none of the hub's rows match the published ones (${ofThem} of its ${met}, with ${known} published); this may be another tenant's data`;
    return { outcome: 'unproven', why, remedy: WRONG_TENANT_REMEDY };
  }
  if (!wasComplete) return { outcome: 'unproven', why: NEVER_COMPLETE, remedy: NEVER_COMPLETE_REMEDY };
  return { outcome: 'compared', why: null, remedy: null };
}

/** A collection that the hub does not offer differs only if the topic has keys. */
function withKeys(error: unknown, collection: CollectionName, keys: number): unknown {
  if (keys === 0 || !(error instanceof RollcallError) || error.code !== 'HUB_NOT_OFFERED') return error;
  const message = `The hub does not offer ${collection}, and the topic has ${keys} keys of it`;
  return new RollcallError('HUB_REQUEST_REFUSED', message, {
    remedy: 'Check hub.baseUrl; or disable the collection.',
    cause: error,
  });
}

export const NEVER_COMPLETE = 'it has had no complete full sync';
export const NEVER_COMPLETE_REMEDY = 'Wait for the first full sync, or run one: "rollcall pull --full".';
/** The collection is empty, or the token has no rights. */
const EMPTY_LIST = 'the hub returns an empty list';
const UNPROVEN_REMEDY =
  "The topic may lack rows that were not seen. Check what the hub answers, and the token's rights.";

const OF_THE_HUB: ReadonlySet<DifferenceKind> = new Set(['missing', 'different', 'undecodable']);

/** Skips keys whose record is already reported as wrong. */
export function indexDifferences(
  collection: CollectionName,
  keys: readonly string[],
  others: readonly Difference[],
): Difference[] {
  const reported = new Set(others.flatMap(({ key, state }) => (state === 'wrong' ? [key] : [])));
  return keys
    .filter((key) => !reported.has(key))
    .map((key) => ({ collection, key, kind: 'index', state: 'wrong' }));
}

function readerOf(tools: VerifyTools, name: CollectionName, entries: Map<string, TopicEntry>): TopicReader {
  let count = 0;
  return new TopicReader(tools, [name], async (record) => {
    await takeRecord(tools.check, entries, record);
    count += 1;
    if (count % REPORT_EVERY === 0)
      tools.onProgress({ collection: name, what: 'records of the topic', count });
  });
}
