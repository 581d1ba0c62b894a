import type { AbsenceVersionValue } from '../../core/chains/chain-row.ts';
import type { LoggedRecord, TenantLog } from '../../publisher/log.ts';
import type { ReadBack } from './resolve-task.ts';

/**
 * Reads records of versions back out of the log: those that the hub has out of `absence-versions`, those that it has no
 * more out of `absences`, where the last one told stands until its removal is told. A reading of two topics from
 * beginning to end: for the end of a pass, and many records at once.
 */
export function readBack(options: {
  log: Pick<TenantLog, 'read'>;
  decode: (framed: Buffer) => Promise<AbsenceVersionValue>;
  signal: AbortSignal;
}): ReadBack {
  const { log, decode, signal } = options;
  return async ({ versionIds, absenceIds }) => {
    const newest = new Map<string, Buffer>();
    const shown = new Map<string, Buffer>();
    await log.read({
      from: [
        { topic: 'absence-versions', after: {} },
        { topic: 'absences', after: {} },
      ],
      onBatch: (records: readonly LoggedRecord[]) => {
        for (const { topic, key, value } of records) {
          const isVersion = topic === 'absence-versions';
          if (value === null || !(isVersion ? versionIds : absenceIds).has(key)) continue;
          // A copy: the value is a view of all that was fetched with it.
          (isVersion ? newest : shown).set(key, Buffer.from(value));
        }
        return Promise.resolve();
      },
      signal,
    });
    const found = new Map<string, AbsenceVersionValue>();
    for (const framed of [...shown.values(), ...newest.values()]) {
      const value = await decode(framed);
      if (versionIds.has(value.sourcedId)) found.set(value.sourcedId, value);
    }
    return found;
  };
}
