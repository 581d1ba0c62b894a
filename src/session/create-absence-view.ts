import { AbsenceView } from '../absences/absence-view.ts';
import { changelogOf } from '../absences/changelog-of-index.ts';
import { readRecords } from '../absences/read-records.ts';
import { isFromHub } from '../errors.ts';
import type { ViewParts } from '../table/collection-writer.ts';
import type { Source } from '../source/source.ts';
import type { Tenant } from './tenant.ts';

/** After the hub failed to answer for single rows, Rollcall does not ask for any for so long. */
const NO_SINGLE_ROWS_FOR_MS = 30_000;

/** Creates the absence view of the writer of `absence-versions`; undefined if absences are not mirrored. */
export function createAbsenceView(options: {
  readonly parts: Tenant;
  readonly source: Source;
  readonly signal: AbortSignal;
}): ViewParts | undefined {
  const { parts, source, signal } = options;
  const { chains } = parts;
  if (chains === undefined) return undefined;
  let notBeforeMs = 0;
  const index = parts.state.collection('absence-versions');
  const view = new AbsenceView({
    ...chains,
    tenantId: parts.tenantId,
    index,
    readRecords: readRecords({ log: parts.log, decode: (framed) => chains.decode(framed), signal }),
    now: parts.runtime.now,
    onCommitted: ({ tally, publishedOpen, contradictions, students }) => {
      parts.emit({ type: 'chains-published', tally, publishedOpen, contradictions });
      chains.onStudents(students);
    },
  });
  return {
    view,
    fetchRows: async (ids, readVersion) => {
      if (parts.runtime.now() < notBeforeMs) return null;
      try {
        return (await source.fetchRows?.(ids, { readVersion, signal })) ?? null;
      } catch (error) {
        if (!isFromHub(error)) throw error;
        notBeforeMs = parts.runtime.now() + NO_SINGLE_ROWS_FOR_MS;
        return null;
      }
    },
    changelog: (at) => changelogOf({ log: parts.log, index, chains, signal }, at),
  };
}
