import { decodeVersionEntry } from '../../core/chains/entry-codec.ts';
import { decodePublishedAbsence } from '../../core/chains/published-absence.ts';
import type { IndexEntry, IndexReplay } from '../../state/index-store.ts';
import { UNKNOWN_CONTENT } from './chain-examination.ts';

/**
 * Adds a row with unknown content for each version that the chain index has as `present` and the log does not hold: the
 * log lost it. A full sync finds the row, or treats it like any missing row (invariant 3).
 */
export async function presumeVersions(
  replay: Pick<IndexReplay, 'entries' | 'lookup' | 'write'>,
): Promise<void> {
  for await (const entries of replay.entries('versions')) {
    const isPresent = ([id, value]: IndexEntry): boolean => decodeVersionEntry(id, value).state === 'present';
    await presume(
      replay,
      entries.filter(isPresent).map(([id]) => id),
    );
  }
  for await (const entries of replay.entries('absences')) {
    const hasLone = ([id, value]: IndexEntry): boolean => decodePublishedAbsence(id, value).hasLoneVersion;
    await presume(
      replay,
      entries.filter(hasLone).map(([id]) => id),
    );
  }
}

async function presume(
  replay: Pick<IndexReplay, 'lookup' | 'write'>,
  present: readonly string[],
): Promise<void> {
  const rows = await replay.lookup('rows', present);
  const lost = present.filter((_id, at) => (rows[at] ?? null) === null);
  if (lost.length > 0) await replay.write(lost.map((key) => ({ area: 'rows', key, value: UNKNOWN_CONTENT })));
}
