import type { IHeaders } from 'kafkajs';
import {
  changeHeaders,
  DECISION_HEADER,
  DELETIONS_HEADER,
  FIRST_LOAD_HEADER,
  MAPPING_HEADER,
  SCHEMAS_HEADER,
  STATE_HEADER,
} from '../core/cloud-events.ts';
import { shortDigest } from '../core/rows/content-hash.ts';
import { jsonOrNull } from '../core/json-or-null.ts';
import { isCollectionName } from '../model/collections.ts';
import {
  isFirstLoadOver,
  type DecisionRecord,
  type DeletionState,
  type LastCompleteFull,
  type Progress,
} from '../model/progress.ts';

/** Key of the record that names a tenant's owner (contract, topic `progress`). */
export const OWNER_KEY = '@owner';
const DECISION_KEY = '@decision|';

/** What a record in `progress` says in its headers. */
type HeaderFields = Pick<Progress, 'mapping' | 'firstLoad' | 'absenceState' | 'schemaIds' | 'deletions'>;

/** Fields whose names in the schema differ from those in {@link Progress}, and the fields of `@owner`. */
interface Renamed {
  readonly startedAt: number;
  readonly watermark: number;
  readonly lastCompleteFull: Omit<LastCompleteFull, 'startedAtMs'> & { readonly startedAt: number };
  readonly owner: string;
  readonly ownedSince: number;
  /** IANA name of the time zone in which the days of `schedules` are counted. */
  readonly timeZone: string;
}

type Fields = Omit<
  Progress,
  keyof HeaderFields | 'collection' | 'startedAtMs' | 'watermarkMs' | 'lastCompleteFull'
> &
  Renamed;

/** The value of a progress record, as in avro/progress.avsc; times are ms since the epoch. */
export type ProgressValue = { readonly [Name in keyof Fields]?: Fields[Name] | null } & {
  readonly collection: string;
};

export function progressValue(progress: Progress, timeZone: string): ProgressValue {
  const { startedAtMs, watermarkMs, lastCompleteFull, ...same } = progress;
  let full: ProgressValue['lastCompleteFull'] = null;
  if (lastCompleteFull !== null) {
    const { startedAtMs: startedAt, ...rest } = lastCompleteFull;
    full = { ...rest, startedAt };
  }
  return { ...same, startedAt: startedAtMs, watermark: watermarkMs, lastCompleteFull: full, timeZone };
}

/** Returns null for `@owner` and for a collection that this version does not know. */
export function progressOf(value: ProgressValue, headers: HeaderFields): Progress | null {
  if (!isCollectionName(value.collection) || value.transactionId == null) return null;
  const { startedAt, watermark, lastCompleteFull, owner: _o, ownedSince: _s, timeZone: _z, ...same } = value;
  let full: LastCompleteFull | null = null;
  if (lastCompleteFull != null) {
    const { startedAt: startedAtMs, ...rest } = lastCompleteFull;
    full = { ...rest, startedAtMs, offsets: { ...rest.offsets } };
  }
  return {
    ...(same as Progress),
    startedAtMs: startedAt ?? 0,
    watermarkMs: watermark ?? null,
    offsets: { ...same.offsets },
    lastCompleteFull: full,
    ...headers,
  };
}

export function headerFieldsOf(headers: IHeaders | undefined): HeaderFields {
  const textOf = (name: string): string | undefined => {
    const header = headers?.[name];
    return header === undefined ? undefined : String(header);
  };
  return {
    mapping: textOf(MAPPING_HEADER) ?? null,
    firstLoad: textOf(FIRST_LOAD_HEADER) === 'over' ? 'over' : undefined,
    absenceState: textOf(STATE_HEADER),
    schemaIds: textOf(SCHEMAS_HEADER)?.split(',').map(Number),
    deletions: jsonObject<DeletionState>(textOf(DELETIONS_HEADER)),
  };
}

/**
 * The object that a header contains as JSON. Only Rollcall writes these headers. If a header contains anything else,
 * another program wrote it, and it counts as absent.
 */
export function jsonObject<T extends object>(header: { toString(): string } | undefined): T | undefined {
  const value = header === undefined ? null : jsonOrNull(String(header));
  return typeof value === 'object' && value !== null ? (value as T) : undefined;
}

export function progressHeaders(options: {
  tenantId: string;
  progress: Progress;
  body: Buffer;
  /** The registry's id of the collection's schema. */
  schemaId: number | null;
}): Record<string, string> {
  const { tenantId, progress, body, schemaId } = options;
  const { collection, sequence, mapping, absenceState, deletions, firstLoad, schemaIds = [] } = progress;
  // A transaction may contain the progress of several collections.
  const id = `${progress.transactionId}-${collection}`;
  const headers = ownerHeaders({ tenantId, id, body, kind: sequence === 1 ? 'created' : 'updated', mapping });
  headers[SCHEMAS_HEADER] = [schemaId, ...schemaIds.slice(1)].join(',');
  if (absenceState !== undefined) headers[STATE_HEADER] = absenceState;
  if (deletions !== undefined) headers[DELETIONS_HEADER] = JSON.stringify(deletions);
  const isOver = collection === 'absence-changes' ? isFirstLoadOver(progress) : firstLoad === 'over';
  if (isOver) headers[FIRST_LOAD_HEADER] = 'over';
  return headers;
}

/** The key of the record of a decision. No other decision has this key, so compaction keeps each of them. */
export function decisionKey({ atMs, collection, kind }: DecisionRecord): string {
  return `${DECISION_KEY}${new Date(atMs).toISOString()}|${collection}|${kind}`;
}

export function decisionHeaders(of: Parameters<typeof ownerHeaders>[0], decision: DecisionRecord) {
  return { ...ownerHeaders({ ...of, kind: 'created' }), [DECISION_HEADER]: JSON.stringify(decision) };
}

/** Null for any other record. */
export function decisionOf(key: string, headers: IHeaders | undefined): DecisionRecord | null {
  return key.startsWith(DECISION_KEY)
    ? (jsonObject<DecisionRecord>(String(headers?.[DECISION_HEADER])) ?? null)
    : null;
}

/** The headers of the record of the owner, as every record in `progress` has them. */
export function ownerHeaders(of: {
  tenantId: string;
  id: string;
  body: Buffer;
  kind?: 'created' | 'updated';
  mapping?: string | null | undefined;
}): Record<string, string> {
  const hash = shortDigest(of.body);
  return changeHeaders({ kind: 'updated', ...of, topic: 'progress', modifiedAtMs: null, hash });
}
