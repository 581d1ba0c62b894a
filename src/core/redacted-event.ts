import type { AbsenceChangeValue } from './absence-change.ts';
import type { AbsenceVersionValue } from './chains/chain-row.ts';
import { inForce } from './in-force.ts';
import { canonicalText } from './json-text.ts';
import type { RowReader } from './decoded-row.ts';

/**
 * An event of `absence-changes` as the mapping in force gives it, to be published in place of the one that is there:
 * the same step, as a snapshot, so that nobody is notified. Null where the event is already so.
 */
export function redactedEvent(
  reader: Pick<RowReader, 'mapping' | 'hashOf' | 'readAgain'>,
  event: AbsenceChangeValue,
  /** The event's `ce_mapping` header; null when there is none. */
  mapping: string | null,
): AbsenceChangeValue | null {
  const masked = <Value extends AbsenceVersionValue | null>(value: Value): Value =>
    // The hash of an event is not that of its versions.
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
