import type { LoggedValue } from '../core/in-force.ts';
import { isFramed } from '../log/framing.ts';
import type { LoggedRecord } from '../log/log.ts';
import type { TopicSuffix } from '../model/collections.ts';
import type { AbsenceTenant } from './render-absences.ts';

export interface WantedRecords {
  /** Versions at the hub. */
  readonly versionIds: ReadonlySet<string>;
  /** Absences whose shown version has left the hub, or ends. */
  readonly absenceIds: ReadonlySet<string>;
}

type Stored = Pick<LoggedRecord, 'mapping'> & { readonly framed: Buffer };

/**
 * Reads version records back from the log: `absences` holds the last record that was shown until its deletion,
 * `absence-versions` what the hub has. It reads the topics from beginning to end, so it serves only the end of a sync.
 */
export async function readRecords(
  { log, absences }: Pick<AbsenceTenant, 'log' | 'absences'>,
  { versionIds, absenceIds }: WantedRecords,
  { onRecord, signal }: { onRecord: (logged: LoggedValue) => void; signal: AbortSignal },
): Promise<void> {
  const places = [
    { topic: 'absences' as TopicSuffix, wanted: absenceIds, records: new Map<string, Stored>() },
    { topic: 'absence-versions' as TopicSuffix, wanted: versionIds, records: new Map<string, Stored>() },
  ].filter(({ wanted }) => wanted.size > 0);
  await log.read({
    from: places.map(({ topic }) => ({ topic, after: {} })),
    onBatch: (records: readonly LoggedRecord[]) => {
      const place = places.find(({ topic }) => topic === records[0]?.topic);
      for (const { key, value, mapping } of records) {
        if (place?.wanted.has(key) !== true) continue;
        if (value === null || !isFramed(value)) place.records.delete(key);
        // The value is a part of a larger buffer, so keep a copy.
        else place.records.set(key, { framed: Buffer.from(value), mapping });
      }
      return Promise.resolve();
    },
    signal,
  });
  for (const { records } of places) {
    for (const { framed, mapping } of records.values()) {
      const value = (await absences.decode(framed)) as object | null;
      if (value !== null) onRecord({ value, mapping });
    }
  }
}
