import { hash as digest } from 'node:crypto';

import { mappingDigest, type RowMapping, shortDigest } from './content-hash.ts';
import { canonicalText, jsonText } from './json-text.ts';
import { SET_FIELDS } from './mapping.ts';
import { pseudonymise } from './pseudonymise.ts';
import { isJsonObject } from './raw-json.ts';
import type { UnreadableRow } from './decoded-row.ts';
import { modifiedTimeOf } from './timestamps.ts';

/** Turns a row that cannot be published into a reject. */
export type RejectReader = (
  row: unknown,
  problem: { sourcedId: string | null; reason: string },
) => UnreadableRow;

export function createRejectReader(options: {
  readonly mapping: RowMapping;
  readonly pseudonymiseKey: string;
  readonly maxRecordBytes: number;
}): RejectReader {
  const { mapping, pseudonymiseKey, maxRecordBytes } = options;
  const dropped = new Set(mapping.drop);
  const pseudonymised = new Set(mapping.pseudonymise);
  const prefix = mappingDigest(mapping).toString('hex');

  function mask(row: object): Record<string, unknown> {
    // Without a prototype, `__proto__` is an ordinary key.
    const copy = Object.create(null) as Record<string, unknown>;
    for (const [name, value] of Object.entries(row)) {
      if (!dropped.has(name))
        copy[name] = pseudonymised.has(name) ? pseudonymise(value, pseudonymiseKey) : value;
    }
    return copy;
  }

  return (row, { sourcedId, reason }) => {
    const masked = isJsonObject(row) ? mask(row) : null;
    const shown = masked ?? row;
    const text = jsonText(shown);
    // A row that is not an object has no fields to mask, so its text may contain data that the mapping takes out.
    const mayShow = masked !== null || (dropped.size === 0 && pseudonymised.size === 0);
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

/** Canonical text omits null members. */
function withoutModifiedTime(row: Record<string, unknown>): object {
  return Object.assign(Object.create(null) as object, row, { dateLastModified: null });
}
