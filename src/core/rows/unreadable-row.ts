import { hash as digest } from 'node:crypto';

import { mappingDigest, type RowMapping, shortDigest } from './content-hash.ts';
import { canonicalText, jsonText } from './json-text.ts';
import { SET_FIELDS } from './mapping-rules.ts';
import { createMask } from './pseudonymise.ts';
import { isJsonObject } from './raw-json.ts';
import type { UnreadableRow } from './decoded-row.ts';
import { modifiedTimeOf } from './timestamps.ts';

/** Turns a row that cannot be published into a reject. */
export type RejectReader = (
  row: unknown,
  problem: { sourcedId: string | null; reason: string },
) => UnreadableRow;

const NO_MASK = { drop: [], pseudonymise: [] } as const;

export function createRejectReader(options: {
  readonly mapping: RowMapping;
  readonly pseudonymiseKey: string;
  readonly maxRecordBytes: number;
  /** True if the mapping has been applied to the rows already. */
  readonly isMapped?: boolean | undefined;
}): RejectReader {
  const { mapping, pseudonymiseKey, maxRecordBytes, isMapped = false } = options;
  const { drop, pseudonymise } = isMapped ? NO_MASK : mapping;
  const isMasked = drop.length > 0 || pseudonymise.length > 0;
  const mask = createMask({ drop, pseudonymise, pseudonymiseKey });
  const prefix = mappingDigest(mapping).toString('hex');

  return (row, { sourcedId, reason }) => {
    const masked = isJsonObject(row) ? mask(row) : null;
    const shown = masked ?? row;
    const text = jsonText(shown);
    // A row that is not an object has no fields to mask, so its text may contain data that the mapping takes out.
    const mayShow = masked !== null || !isMasked;
    const fits = mayShow && Buffer.byteLength(text) <= maxRecordBytes;
    const content = masked === null ? row : withoutModifiedTime(masked);
    return {
      kind: 'reject',
      sourcedId,
      rejectId: sourcedId ?? `sha256:${digest('sha256', canonicalText(content, { keepHrefs: true }), 'hex')}`,
      reason,
      text: fits ? text : null,
      modifiedAtMs: modifiedTimeOf(shown),
      hash: shortDigest(`${prefix}\n${reason}\n${canonicalText(content, { sets: SET_FIELDS })}`),
    };
  };
}

/** A reject for which there is no row to show. */
export function rejectWithoutRow(id: string, reason: string): UnreadableRow {
  const nothing = { text: null, modifiedAtMs: null };
  return { kind: 'reject', sourcedId: id, rejectId: id, reason, ...nothing, hash: shortDigest(reason) };
}

/** Canonical text omits null members. */
function withoutModifiedTime(row: object): object {
  return Object.assign(Object.create(null) as object, row, { dateLastModified: null });
}
