import { z } from 'zod';
import { changeHash, operationOf, type AbsenceChangeValue } from '../../core/absence-change.ts';
import { absenceChangeHeaders } from '../../core/cloud-events.ts';
import { redactedEvent } from '../../core/redacted-event.ts';
import { isFramed } from '../../publisher/framing.ts';
import type { LoggedRecord, OutgoingRecord } from '../../publisher/log.ts';
import type { TenantChains } from '../tenant.ts';
import { passOf } from './again-pass.ts';
import { notMirrored, readParameters, type OwnerRequestKind, type OwnerWork } from './owner-request.ts';

/** In one transaction; more are found by reading the topic again. */
const EVENTS_AT_ONCE = 10_000;

const parameters = z.strictObject({
  /** Only counts. */
  isDryRun: z.boolean(),
});

export type RedactParameters = z.output<typeof parameters>;

/** Survives JSON. */
export interface Redacted {
  /** Absences whose last event holds what the mapping in force drops or pseudonymises. */
  readonly absences: number;
}

/**
 * `rollcall republish absence-changes --redact`: the last event of an absence is published again under the mapping in
 * force, so that compaction takes the one that was there, and those before it.
 */
export const REDACT: OwnerRequestKind<RedactParameters, Redacted> = {
  kind: 'redact',
  read: (given) => readParameters(parameters, given),
  async meet({ isDryRun }, work) {
    const { chains } = work.parts;
    const writer = work.session.writers.get('absence-versions');
    if (writer === undefined || chains === undefined) throw notMirrored('absence-changes');
    // An event that is published meanwhile must not be followed by an older one of its absence.
    if (isDryRun) {
      const { count } = await writer.undisturbed(() => outdatedEvents(work, chains, 0));
      return { absences: count };
    }
    let absences = 0;
    for (;;) {
      const published = await writer.reissue(passOf(work, writer, {}), async (idOf) => {
        const { events } = await outdatedEvents(work, chains, EVENTS_AT_ONCE);
        return events.map((event, index) => recordOf(work, event, idOf(index)));
      });
      if (published === 0) break;
      absences += published;
      await work.report({ absences });
    }
    return { absences };
  },
};

interface Outdated {
  readonly event: AbsenceChangeValue;
  readonly firstSequence: number | null;
}

/** Of each absence the last event, as it is to be published again; at most so many of them. */
async function outdatedEvents(
  { parts: { log }, signal }: OwnerWork,
  { decode, reader }: TenantChains,
  atMost: number,
): Promise<{ events: readonly Outdated[]; count: number }> {
  const found = new Map<string, Outdated | null>();
  const look = async ({ key, value, mapping, firstSequence }: LoggedRecord): Promise<void> => {
    found.delete(key);
    if (value === null || !isFramed(value) || mapping === (reader.mapping ?? null)) return;
    const event = redactedEvent(reader, (await decode(value)) as AbsenceChangeValue, mapping);
    if (event !== null) found.set(key, found.size < atMost ? { event, firstSequence } : null);
  };
  await log.read({
    from: [{ topic: 'absence-changes', after: {} }],
    onBatch: async (records) => {
      for (const record of records) await look(record);
    },
    signal,
  });
  return { events: [...found.values()].filter((each) => each !== null), count: found.size };
}

function recordOf(
  { parts: { tenantId, chains } }: OwnerWork,
  { event, firstSequence }: Outdated,
  id: string,
): OutgoingRecord {
  if (chains === undefined) throw notMirrored('absence-changes');
  const body = chains.encodeChange(event);
  return {
    topic: 'absence-changes',
    key: event.absenceId,
    body,
    headers: absenceChangeHeaders({
      tenantId,
      id,
      operation: operationOf(event),
      modifiedAtMs: event.version.dateLastModified ?? null,
      hash: changeHash(body),
      firstSequence,
      mapping: chains.reader.mapping,
    }),
  };
}
