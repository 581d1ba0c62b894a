import { hash as digest } from 'node:crypto';

import { mappingDigest, type RowMapping, shortDigest } from './content-hash.ts';
import { canonicalText, jsonText } from './json-text.ts';
import { SET_FIELDS } from './mapping-rules.ts';
import { isJsonObject } from './raw-json.ts';
import type { UnreadableRow } from './decoded-row.ts';
import { modifiedTimeOf } from './timestamps.ts';

/** Compiles the function that turns a row that cannot be published into a reject. If the row is an object, it must already be masked. */
export function createRejectReader(mapping: RowMapping, maxRecordBytes: number) {
  const takesOut = mapping.drop.length > 0 || mapping.pseudonymise.length > 0;
  const prefix = mappingDigest(mapping).toString('hex');

  return (
    row: unknown,
    { sourcedId, reason }: { sourcedId: string | null; reason: string },
  ): UnreadableRow => {
    const text = jsonText(row);
    // A row that is not an object has no fields to mask, so its text may contain data that the mapping takes out.
    const mayShow = isJsonObject(row) || !takesOut;
    const fits = mayShow && Buffer.byteLength(text) <= maxRecordBytes;
    const content = isJsonObject(row) ? withoutModifiedTime(row) : row;
    return {
      kind: 'reject',
      sourcedId,
      rejectId: sourcedId ?? `sha256:${digest('sha256', canonicalText(content, { keepHrefs: true }), 'hex')}`,
      reason,
      text: fits ? text : null,
      modifiedAtMs: modifiedTimeOf(row),
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
