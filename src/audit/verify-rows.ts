import { OTHER_STUDENT } from '../core/absences/absence-version.ts';
import { canVerifyIdentity, overlapsEnough } from '../core/tenant-identity.ts';
import type { KeyedRow } from '../core/row-changes.ts';
import { RowComparison, type TopicView } from '../core/verify/row-comparison.ts';
import { RollcallError } from '../errors.ts';
import type { CollectionName } from '../model/collections.ts';
import { WRONG_TENANT_REMEDY } from '../sync/identity-check.ts';
import type { TenantCollection } from '../session/tenant-parts.ts';
import { hubRows, type HubRows } from './hub-rows.ts';
import { readUntilComplete } from './read-until-complete.ts';
import { readTopic, reportDifferences, type Verdict } from './report-differences.ts';
import type { CollectionReport, VerifyTools } from './verify-tools.ts';
import { randomSeed } from '../core/seen-keys.ts';

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
  const topic = await readTopic(tools, name, signal);
  const { view } = topic;
  const hub = hubRows(tools.parts, collection);
  const comparison = new RowComparison(view, { seed: randomSeed(), skipsEmpty: false });
  const known = view.rows.size;
  const asPublished = (row: KeyedRow): KeyedRow => rejectedVersion(row, { view, collection }) ?? row;
  const doubt = await readHub(tools, { name, hub, comparison, view, asPublished, onRow, signal });
  const isWrongTenant =
    canVerifyIdentity(known) &&
    !overlapsEnough({ rows: comparison.keysSeen, knownAmongThem: comparison.keysKnown, knownRows: known });
  return reportDifferences(tools, {
    ...topic,
    collection,
    comparison,
    hub,
    isWrongTenant,
    guardsLeftOver: true,
    doubtIn: () => {
      if (doubt === null) return isWrongTenant ? wrongTenant(comparison, known) : null;
      const why = `not all rows of the hub were seen: ${doubt}`;
      return { outcome: 'unproven', why, remedy: UNPROVEN_REMEDY };
    },
    signal,
  });
}

/** Reads the hub into the comparison until all rows are seen; returns the doubt if that fails, else null. */
async function readHub(
  tools: VerifyTools,
  options: {
    readonly name: CollectionName;
    readonly hub: HubRows;
    readonly comparison: RowComparison;
    readonly view: TopicView;
    readonly asPublished: (row: KeyedRow) => KeyedRow;
    readonly onRow: ((row: KeyedRow) => void) | undefined;
    readonly signal: AbortSignal;
  },
): Promise<string | null> {
  const { name, hub, comparison, view, asPublished, onRow, signal } = options;
  const startedAtMs = tools.parts.runtime.now();
  const known = view.rows.size;
  const doubt = await readUntilComplete(async (firstStartedAtMs) => {
    const sinceMs = firstStartedAtMs ?? startedAtMs;
    let rows = 0;
    let news = 0;
    let newRowsThereAtStart = 0;
    const scan = await hub.read((page) => {
      for (const each of page.map(asPublished)) {
        const isNew = comparison.take(each);
        onRow?.(each);
        if (!isNew) continue;
        news += 1;
        const { modifiedAtMs } = each.decoded;
        if (modifiedAtMs === null || modifiedAtMs < sinceMs) newRowsThereAtStart += 1;
      }
      rows += page.length;
      tools.onProgress({ collection: name, what: 'rows of the hub', count: rows, of: known });
    }, signal);
    if (scan === null) throw new TypeError(`${name} is no list`);
    return { scan, news, newRowsThereAtStart };
  }).catch((error: unknown) => {
    throw withKeys(error, name, known);
  });
  comparison.finish();
  return doubt;
}

/** A version that was rejected because it is of another student than its absence; null for any other row. */
function rejectedVersion(
  row: KeyedRow,
  { view, collection }: { view: TopicView; collection: TenantCollection },
): KeyedRow | null {
  const { key, rejectKey, decoded } = row;
  if (collection.name !== 'absence-versions' || decoded.kind === 'reject') return null;
  if (!view.rejects.has(rejectKey) || view.rows.has(key ?? '')) return null;
  const rejected = collection.reader.rejectValue?.(decoded.value, OTHER_STUDENT);
  return rejected === undefined ? null : { ...row, decoded: rejected };
}

function wrongTenant({ keysSeen, keysKnown }: RowComparison, knownRows: number): Verdict {
  const why = `almost none of the hub's rows match the published ones (${keysKnown} of its ${keysSeen}, with ${knownRows} published); this may be another tenant's data`;
  return { outcome: 'unproven', why, remedy: WRONG_TENANT_REMEDY };
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

const UNPROVEN_REMEDY =
  "The topic may lack rows that were not seen. Check what the hub answers, and the token's rights.";
