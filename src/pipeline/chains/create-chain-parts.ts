import { isFromHub } from '../../errors.ts';
import type { Source } from '../source.ts';
import type { TenantCollection, TenantParts } from '../tenant-parts.ts';
import type { ChainParts } from './absence-emitter.ts';
import { AbsenceView } from './absence-view.ts';
import { importedRecords } from './fill-changelog.ts';
import { readPublishedVersions } from './read-published-versions.ts';

/** After the hub failed to answer for single rows, Rollcall does not ask for any for so long. */
const NO_SINGLE_ROWS_FOR_MS = 30_000;

/** Creates the absence view of the writer of `absence-versions`; undefined if absences are not mirrored. */
export function createChainParts(options: {
  readonly parts: TenantParts;
  readonly collection: TenantCollection;
  readonly source: Source;
  readonly signal: AbortSignal;
}): ChainParts | undefined {
  const { parts, collection, source, signal } = options;
  const { chains } = parts;
  if (chains === undefined) return undefined;
  let notBeforeMs = 0;
  const view = new AbsenceView({
    ...chains,
    tenantId: parts.tenantId,
    index: parts.state.collection('absence-versions'),
    encodeVersion: (value) => collection.reader.encode(value),
    mapping: collection.reader.mapping ?? null,
    readPublishedVersions: readPublishedVersions({
      log: parts.log,
      reader: collection.reader,
      decode: (framed) => chains.decode(framed),
      signal,
    }),
    now: parts.runtime.now,
  });
  return {
    view,
    fetch: async (ids, readVersion) => {
      if (parts.runtime.now() < notBeforeMs) return null;
      try {
        return (await source.fetchRows?.(ids, { readVersion, signal })) ?? null;
      } catch (error) {
        // The rows are asked for again at the end of the sync, or with the next change of their chain.
        if (!isFromHub(error)) throw error;
        notBeforeMs = parts.runtime.now() + NO_SINGLE_ROWS_FOR_MS;
        return null;
      }
    },
    importedRecords: (at) =>
      importedRecords({ log: parts.log, index: parts.state.collection('absence-versions'), signal }, at),
    onCommitted: ({ tally, publishedOpen, contradictions, students }) => {
      parts.emit({ type: 'chains-published', tally, publishedOpen, contradictions });
      chains.onStudents(students);
    },
  };
}
