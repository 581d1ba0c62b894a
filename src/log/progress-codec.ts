import { hash } from 'node:crypto';
import type { IHeaders } from 'kafkajs';
import {
  changeHeaders,
  DELETIONS_HEADER,
  FIRST_LOAD_HEADER,
  MAPPING_HEADER,
  SCHEMAS_HEADER,
  STATE_HEADER,
} from '../core/cloud-events.ts';
import { isCollectionName } from '../model/collections.ts';
import {
  isFirstLoadOver,
  type DeletionState,
  type LastCompleteFull,
  type Offsets,
  type SyncMode,
  type Progress,
} from '../model/progress.ts';

/** Key of the record that names a tenant's owner (contract, topic `progress`). */
export const OWNER_KEY = '@owner';
const HASH_HEX_DIGITS = 32;

export interface ProgressCodec {
  /** Returns the Avro body of a progress record. */
  encode(progress: Progress): Buffer;
  encodeOwner(owner: { owner: string; ownedSinceMs: number }): Buffer;
  /** Reads a framed value. */
  decode(
    record: LoggedProgress,
  ): Promise<{ progress: Progress | null; owner: string | null; ownedSinceMs: number | null }>;
}

/** The input of {@link ProgressCodec.decode}, from a record of `progress`. */
export interface LoggedProgress {
  readonly framed: Buffer;
  /** The `ce_mapping` header; null without one. */
  readonly mapping: string | null;
  /** The `ce_firstload` header. */
  readonly firstLoad: 'over' | undefined;
  /** The `ce_absencestate` header. */
  readonly absenceState: string | undefined;
  /** The `ce_schemas` header. */
  readonly schemaIds: readonly number[] | undefined;
  /** The `ce_deletions` header. */
  readonly deletions: DeletionState | undefined;
}

export function loggedProgress(framed: Buffer, headers: IHeaders | undefined): LoggedProgress {
  const mapping = headers?.[MAPPING_HEADER];
  const state = headers?.[STATE_HEADER];
  const schemas = headers?.[SCHEMAS_HEADER];
  const isOver = String(headers?.[FIRST_LOAD_HEADER] ?? '') === 'over';
  return {
    framed,
    mapping: mapping === undefined ? null : String(mapping),
    firstLoad: isOver ? 'over' : undefined,
    absenceState: state === undefined ? undefined : String(state),
    schemaIds: schemas === undefined ? undefined : String(schemas).split(',').map(Number),
    deletions: readDeletions(headers?.[DELETIONS_HEADER]),
  };
}

/** Only Rollcall writes the header, so what is no JSON was written by another program and counts as absent. */
function readDeletions(header: IHeaders[string]): DeletionState | undefined {
  if (header === undefined) return undefined;
  try {
    return JSON.parse(String(header)) as DeletionState;
  } catch {
    return undefined;
  }
}

/** The value of a progress record, as in avro/progress.avsc; times are ms since the epoch. */
interface ProgressValue {
  readonly collection: string;
  readonly sequence?: number | null;
  readonly transactionId?: string | null;
  readonly passId?: string | null;
  readonly mode?: string | null;
  readonly complete?: boolean | null;
  readonly startedAt?: number | null;
  readonly rowsSeen?: number | null;
  readonly rowsPublished?: number | null;
  readonly rowsRejected?: number | null;
  readonly rowsRemoved?: number | null;
  readonly rowsWithheld?: number | null;
  readonly totalAtStart?: number | null;
  readonly totalAtEnd?: number | null;
  readonly watermark?: number | null;
  readonly offsets?: Readonly<Record<string, number>> | null;
  readonly lastCompleteFull?: {
    readonly passId: string;
    readonly startedAt: number;
    readonly offsets: Readonly<Record<string, number>>;
    readonly rows: number;
    readonly rowsRejected: number;
    readonly rowsWithheld: number;
  } | null;
  readonly owner?: string | null;
  readonly ownedSince?: number | null;
  readonly timeZone?: string | null;
}

export function createProgressCodec(parts: {
  /** IANA name of the zone whose clock counts the days of `schedules`; null for a codec that only decodes. */
  timeZone: string | null;
  encode: (value: ProgressValue) => Buffer;
  decode: (framed: Buffer) => Promise<ProgressValue>;
}): ProgressCodec {
  const { timeZone } = parts;
  return {
    encode: (progress) => parts.encode({ ...toValue(progress), timeZone }),
    encodeOwner: ({ owner, ownedSinceMs }) =>
      parts.encode({ ...EMPTY_VALUE, collection: OWNER_KEY, owner, ownedSince: ownedSinceMs, timeZone }),
    async decode({ framed, ...headers }) {
      const value = await parts.decode(framed);
      const { owner = null, ownedSince } = value;
      return { progress: fromValue(value, headers), owner, ownedSinceMs: toMs(ownedSince) };
    },
  };
}

const EMPTY_VALUE = {
  sequence: null,
  transactionId: null,
  passId: null,
  mode: null,
  complete: null,
  startedAt: null,
  rowsSeen: null,
  rowsPublished: null,
  rowsRejected: null,
  rowsRemoved: null,
  rowsWithheld: null,
  totalAtStart: null,
  totalAtEnd: null,
  watermark: null,
  offsets: {},
  lastCompleteFull: null,
  owner: null,
  ownedSince: null,
} as const;

function toValue(progress: Progress): ProgressValue {
  const {
    startedAtMs,
    watermarkMs,
    lastCompleteFull,
    mapping: _mapping,
    firstLoad: _load,
    absenceState: _state,
    schemaIds: _schemas,
    deletions: _deletions,
    ...same
  } = progress;
  return {
    ...EMPTY_VALUE,
    ...same,
    startedAt: startedAtMs,
    watermark: watermarkMs,
    lastCompleteFull: lastCompleteFull === null ? null : fullToValue(lastCompleteFull),
  };
}

function fullToValue({
  startedAtMs,
  ...same
}: LastCompleteFull): NonNullable<ProgressValue['lastCompleteFull']> {
  return { ...same, startedAt: startedAtMs };
}

/** Returns null for `@owner` and for a collection that this version does not know. */
function fromValue(value: ProgressValue, headers: Omit<LoggedProgress, 'framed'>): Progress | null {
  if (
    !isCollectionName(value.collection) ||
    value.transactionId === null ||
    value.transactionId === undefined
  ) {
    return null;
  }
  const full = value.lastCompleteFull ?? null;
  return {
    collection: value.collection,
    sequence: value.sequence ?? 0,
    transactionId: value.transactionId,
    passId: value.passId ?? '',
    mode: (value.mode ?? 'FULL') as SyncMode,
    complete: value.complete ?? false,
    startedAtMs: toMs(value.startedAt) ?? 0,
    rowsSeen: value.rowsSeen ?? 0,
    rowsPublished: value.rowsPublished ?? 0,
    rowsRejected: value.rowsRejected ?? 0,
    rowsRemoved: value.rowsRemoved ?? 0,
    rowsWithheld: value.rowsWithheld ?? 0,
    totalAtStart: value.totalAtStart ?? null,
    totalAtEnd: value.totalAtEnd ?? null,
    watermarkMs: toMs(value.watermark),
    offsets: copyOffsets(value.offsets),
    lastCompleteFull:
      full === null
        ? null
        : {
            passId: full.passId,
            startedAtMs: toMs(full.startedAt) ?? 0,
            offsets: copyOffsets(full.offsets),
            rows: full.rows,
            rowsRejected: full.rowsRejected,
            rowsWithheld: full.rowsWithheld,
          },
    ...headers,
  };
}

/** Avro libraries return a timestamp as a number or a Date, depending on their logical types. */
function toMs(time: number | Date | null | undefined): number | null {
  if (time === null || time === undefined) return null;
  return Number(time);
}

function copyOffsets(offsets: Readonly<Record<string, number>> | null | undefined): Offsets {
  return { ...offsets };
}

function bodyHash(body: Buffer): Buffer {
  return Buffer.from(hash('sha256', body, 'hex').slice(0, HASH_HEX_DIGITS), 'hex');
}

export function progressHeaders(options: {
  tenantId: string;
  progress: Progress;
  body: Buffer;
  /** The registry's id of the collection's schema. */
  schemaId: number | null;
}): Record<string, string> {
  const headers = changeHeaders({
    tenantId: options.tenantId,
    topic: 'progress',
    // A transaction may contain the progress of several collections.
    id: `${options.progress.transactionId}-${options.progress.collection}`,
    kind: options.progress.sequence === 1 ? 'created' : 'updated',
    modifiedAtMs: null,
    hash: bodyHash(options.body),
    mapping: options.progress.mapping,
  });
  const { collection, absenceState, deletions, schemaIds = [] } = options.progress;
  headers[SCHEMAS_HEADER] = [options.schemaId, ...schemaIds.slice(1)].join(',');
  if (absenceState !== undefined) headers[STATE_HEADER] = absenceState;
  if (deletions !== undefined) headers[DELETIONS_HEADER] = JSON.stringify(deletions);
  const isOver = collection === 'absence-changes' && isFirstLoadOver(options.progress);
  return isOver ? { ...headers, [FIRST_LOAD_HEADER]: 'over' } : headers;
}

export function ownerHeaders(options: {
  tenantId: string;
  id: string;
  body: Buffer;
}): Record<string, string> {
  return changeHeaders({
    tenantId: options.tenantId,
    topic: 'progress',
    id: options.id,
    kind: 'updated',
    modifiedAtMs: null,
    hash: bodyHash(options.body),
  });
}
