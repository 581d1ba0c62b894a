import { decodeAbsent } from '../../core/absences/current-absence.ts';
import { decodeEntry, decodePointer } from '../../core/absences/entry-codec.ts';
import { changeIn } from '../../table/changelog.ts';

/**
 * The texts in a value of `absence-state`: ids of versions and students, and kept records as JSON. Hashes, days and counts are left
 * out. Undefined if the value cannot be decoded.
 */
export function stateTexts(key: string, value: Buffer): readonly string[] | undefined {
  const change = changeIn({ key, value });
  try {
    switch (change?.area) {
      case 'absences': {
        const { members, continuedBy } = decodeEntry(change.key, value);
        return [...members.map(({ id }) => id), ...(continuedBy === null ? [] : [continuedBy])];
      }
      case 'pointers':
        return [decodePointer(value)];
      case 'absent':
        return value.length === 0 ? [] : [decodeAbsent(value).studentId];
      case 'bodies':
        return [value.toString('utf8')];
      default:
        return [];
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return undefined;
  }
}
