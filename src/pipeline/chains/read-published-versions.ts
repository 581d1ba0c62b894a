import type { AbsenceChangeValue } from '../../core/absence-change.ts';
import type { AbsenceVersionValue } from '../../core/chains/chain-row.ts';
import { inForce, type LoggedValue } from '../../core/in-force.ts';
import type { RowReader } from '../../core/decoded-row.ts';
import type { TopicSuffix } from '../../model/collections.ts';
import { isFramed } from '../../log/framing.ts';
import type { LoggedRecord, TenantLog } from '../../log/log.ts';
import type { ReadPublishedVersions } from './resolve-task.ts';

type Stored = Pick<LoggedRecord, 'mapping' | 'hash'> & { readonly framed: Buffer };
type Place = { readonly wanted: ReadonlySet<string>; readonly records: Map<string, Stored> };

/**
 * Reads version records back from the log: versions at the hub from `absence-versions`; departed versions from
 * `absences`, which holds the last published record until its deletion, or from the last event. It reads the topics
 * from beginning to end, so it serves only for many records at the end of a sync. Values written under another mapping
 * come as the mapping in force gives them (invariant 12).
 */
export function readPublishedVersions(options: {
  log: Pick<TenantLog, 'read'>;
  /** Decodes a framed value of one of the three topics. */
  decode: (framed: Buffer) => Promise<unknown>;
  /** The reader of `absence-versions`. */
  reader: Pick<RowReader, 'mapping' | 'hashOf' | 'readAgain'>;
  signal: AbortSignal;
}): ReadPublishedVersions {
  const { log, decode, reader, signal } = options;
  return async ({ versionIds, absenceIds }, onVersion) => {
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
          // Value and hash are parts of larger buffers, so keep copies.
          if (value !== null && isFramed(value) && place?.wanted.has(key) === true) {
            const ownHash = hash === null ? null : Buffer.from(hash);
            place.records.set(key, { framed: Buffer.from(value), mapping, hash: ownHash });
          }
          // The deletion event has a newer record than the one shown before the deletion.
          else if (value === null && topic === 'absences') shown.records.delete(key);
        }
        return Promise.resolve();
      },
      signal,
    });
    const add = (logged: LoggedValue): void => {
      const { value, hash } = inForce(reader, logged);
      const version = value as AbsenceVersionValue;
      if (versionIds.has(version.sourcedId)) onVersion(version.sourcedId, { value: version, hash });
    };
    for (const { framed, mapping } of events.records.values()) {
      // The record's hash header is over the event, not over this version.
      add({ value: ((await decode(framed)) as AbsenceChangeValue).version, mapping, hash: null });
    }
    for (const { framed, mapping, hash } of [...shown.records.values(), ...newest.records.values()]) {
      const value = (await decode(framed)) as object | null;
      if (value !== null) add({ value, mapping, hash });
    }
  };
}
