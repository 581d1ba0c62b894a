import type { AbsenceChangeValue } from '../../core/absence-change.ts';
import type { AbsenceVersionValue } from '../../core/chains/chain-row.ts';
import type { TopicSuffix } from '../../model/collections.ts';
import { isFramed } from '../../publisher/framing.ts';
import type { LoggedRecord, TenantLog } from '../../publisher/log.ts';
import type { ReadBack } from './resolve-task.ts';

/**
 * Reads records of versions back out of the log: those that the hub has out of `absence-versions`, those that it has no
 * more out of `absences`, where the last one told stands until its removal is told, or out of the last event. A reading
 * of the topics from beginning to end: for the end of a pass, and many records at once.
 */
export function readBack(options: {
  log: Pick<TenantLog, 'read'>;
  /** A framed value of one of the three topics. */
  decode: (framed: Buffer) => Promise<unknown>;
  signal: AbortSignal;
}): ReadBack {
  const { log, decode, signal } = options;
  return async ({ versionIds, absenceIds }) => {
    const newest = new Map<string, Buffer>();
    const shown = new Map<string, Buffer>();
    const told = new Map<string, Buffer>();
    const places: Partial<Record<TopicSuffix, { wanted: ReadonlySet<string>; values: Map<string, Buffer> }>> =
      {
        'absence-versions': { wanted: versionIds, values: newest },
        absences: { wanted: absenceIds, values: shown },
        'absence-changes': { wanted: absenceIds, values: told },
      };
    const topics: readonly TopicSuffix[] =
      absenceIds.size === 0 ? ['absence-versions'] : ['absence-versions', 'absences', 'absence-changes'];
    await log.read({
      from: topics.map((topic) => ({ topic, after: {} })),
      onBatch: (records: readonly LoggedRecord[]) => {
        for (const { topic, key, value } of records) {
          const place = places[topic];
          // A copy: the value is a view of all that was fetched with it.
          if (value !== null && isFramed(value) && place?.wanted.has(key) === true)
            place.values.set(key, Buffer.from(value));
        }
        return Promise.resolve();
      },
      signal,
    });
    const found = new Map<string, AbsenceVersionValue>();
    const add = (value: AbsenceVersionValue | null): void => {
      if (value !== null && versionIds.has(value.sourcedId)) found.set(value.sourcedId, value);
    };
    for (const framed of told.values()) add(((await decode(framed)) as AbsenceChangeValue).version);
    for (const framed of [...shown.values(), ...newest.values()])
      add((await decode(framed)) as AbsenceVersionValue);
    return found;
  };
}
