import type { AbsenceChangeValue } from './absence-change.ts';
import type { AbsenceVersionValue } from './chains/chain-row.ts';
import { inForce } from './in-force.ts';
import { canonicalText } from './json-text.ts';
import type { RowReader } from './decoded-row.ts';

/**
 * An event of `absence-changes` under the mapping in force, to publish over the existing one: the same step, marked as
 * a snapshot, so that consumers notify no one. Null when the mapping changes nothing in it.
 */
export function redactedEvent(
  reader: Pick<RowReader, 'mapping' | 'hashOf' | 'readAgain'>,
  event: AbsenceChangeValue,
  /** The event's `ce_mapping` header; null when there is none. */
  mapping: string | null,
): AbsenceChangeValue | null {
  const masked = <Value extends AbsenceVersionValue | null>(value: Value): Value =>
    // The record's hash covers the event, not the version.
    value === null ? value : (inForce(reader, { value, mapping, hash: null }).value as Value);
  const version = masked(event.version);
  const previousVersion = masked(event.previousVersion);
  const isSame =
    textOf(version) === textOf(event.version) && textOf(previousVersion) === textOf(event.previousVersion);
  return isSame ? null : { ...event, version, previousVersion, snapshot: true };
}

function textOf(value: object | null): string {
  return canonicalText(value, { keepHrefs: true });
}
