import { decodeEntry } from '../core/absences/entry-codec.ts';
import { HASH_OF_NO_ROW } from '../core/content-hash.ts';
import type { IndexReplay } from '../state/index-store.ts';

/**
 * Adds a row with unknown content for each version that an absence has as `present` and the log does not hold: the log
 * lost it. A full sync finds the row, or treats it like any missing row (invariant 3).
 */
export async function presumeVersions(
  replay: Pick<IndexReplay, 'entries' | 'lookup' | 'write'>,
): Promise<void> {
  for await (const entries of replay.entries('absences')) {
    const present = entries.flatMap(([key, value]) =>
      decodeEntry(key, value).members.flatMap(({ id, state }) => (state === 'present' ? [id] : [])),
    );
    const rows = await replay.lookup('rows', present);
    const lost = present.filter((_id, at) => (rows[at] ?? null) === null);
    if (lost.length > 0)
      await replay.write(lost.map((key) => ({ area: 'rows', key, value: HASH_OF_NO_ROW })));
  }
}
