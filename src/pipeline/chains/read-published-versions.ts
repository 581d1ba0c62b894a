import type { AbsenceChangeValue } from '../../core/absence-change.ts';
import type { AbsenceVersionValue } from '../../core/chains/chain-row.ts';
import { inForce, type LoggedValue } from '../../core/in-force.ts';
import type { RowReader } from '../../core/decoded-row.ts';
import type { TopicSuffix } from '../../model/collections.ts';
import { isFramed } from '../../log/framing.ts';
import type { LoggedRecord, TenantLog } from '../../log/log.ts';
import type { ReadPublishedVersions, PublishedVersion } from './resolve-task.ts';

type Stored = Pick<LoggedRecord, 'mapping' | 'hash'> & { readonly framed: Buffer };
type Place = { readonly wanted: ReadonlySet<string>; readonly records: Map<string, Stored> };

/**
 * Reads records of versions back out of the log: those that the hub has out of `absence-versions`, those that it has no
 * more out of `absences`, where the last published one stands until its removal, or out of the last event. A reading
 * of the topics from beginning to end: for the end of a sync, and many records at once. What was written under another
 * mapping comes as the mapping in force gives it (invariant 12).
 */
export function readPublishedVersions(options: {
  log: Pick<TenantLog, 'read'>;
  /** A framed value of one of the three topics. */
  decode: (framed: Buffer) => Promise<unknown>;
  /** Of `absence-versions`. */
  reader: Pick<RowReader, 'mapping' | 'hashOf' | 'readAgain'>;
  signal: AbortSignal;
}): ReadPublishedVersions {
  const { log, decode, reader, signal } = options;
  return async ({ versionIds, absenceIds }) => {
    const newest: Place = { wanted: versionIds, records: new Map() };
    const shown: Place = { wanted: absenceIds, records: new Map() };
    const events: Place = { wanted: absenceIds, records: new Map() };
    const places: Partial<Record<TopicSuffix, Place>> = {
      'absence-versions': newest,
      absences: shown,
      'absence-changes': events,
    };
    const topics: readonly TopicSuffix[] =
      absenceIds.size === 0 ? ['absence-versions'] : ['absence-versions', 'absences', 'absence-changes'];
    await log.read({
      from: topics.map((topic) => ({ topic, after: {} })),
      onBatch: (records: readonly LoggedRecord[]) => {
        for (const { topic, key, value, mapping, hash } of records) {
          const place = places[topic];
          // A copy: the value is a view of all that was fetched with it.
          if (value !== null && isFramed(value) && place?.wanted.has(key) === true)
            place.records.set(key, { framed: Buffer.from(value), mapping, hash });
          // The event of its end is newer than what was shown before it.
          else if (value === null && topic === 'absences') shown.records.delete(key);
        }
        return Promise.resolve();
      },
      signal,
    });
    const found = new Map<string, PublishedVersion>();
    const add = (logged: LoggedValue): void => {
      const { value, hash } = inForce(reader, logged);
      const version = value as AbsenceVersionValue;
      if (versionIds.has(version.sourcedId)) found.set(version.sourcedId, { value: version, hash });
    };
    for (const { framed, mapping } of events.records.values()) {
      // The hash is that of the whole event.
      add({ value: ((await decode(framed)) as AbsenceChangeValue).version, mapping, hash: null });
    }
    for (const { framed, mapping, hash } of [...shown.records.values(), ...newest.records.values()]) {
      const value = (await decode(framed)) as object | null;
      if (value !== null) add({ value, mapping, hash });
    }
    return found;
  };
}
