import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { changeHash, operationOf } from '../../core/absence-change.ts';
import { absenceChangeHeaders } from '../../core/cloud-events.ts';
import { offsetsOf, type Offsets } from '../../model/progress.ts';
import type { OutgoingRecord } from '../../log/log.ts';
import type { CollectionWriter } from '../collection-writer.ts';
import { OutdatedEvents, type BatchBounds, type RedactedEvent } from './outdated-events.ts';
import { notMirrored, readParameters, type OwnerRequestKind, type OwnerWork } from './owner-request.ts';

/** Limits of one transaction. */
const AT_ONCE: BatchBounds = { events: 10_000, bytes: 8_000_000 };

const parameters = z.strictObject({
  /** True: only counts. */
  isDryRun: z.boolean(),
});

export type RedactParameters = z.output<typeof parameters>;

/** Survives JSON. */
export interface Redacted {
  /** Number of absences whose last event holds data that the mapping in force drops or pseudonymises. */
  readonly absences: number;
}

/**
 * `rollcall republish absence-changes --redact`: publishes the last event of an absence again under the mapping in force,
 * so that compaction removes the old event and those before it.
 */
export const REDACT: OwnerRequestKind<RedactParameters, Redacted> = {
  kind: 'redact',
  read: (given) => readParameters(parameters, given),
  async handle({ isDryRun }, work) {
    const { chains } = work.parts;
    const writer = work.session.writers.get('absence-versions');
    if (writer === undefined || chains === undefined) throw notMirrored('absence-changes');
    const outdated = new OutdatedEvents({ tenant: work.parts, chains, signal: work.signal });
    return { absences: await (isDryRun ? count(outdated) : publishAgain(work, { writer, outdated })) };
  },
};

async function count(outdated: OutdatedEvents): Promise<number> {
  await outdated.find();
  return outdated.count;
}

/** Reads the topic while syncs continue, and checks for their new events right before each transaction. */
async function publishAgain(
  work: OwnerWork,
  { writer, outdated }: { writer: CollectionWriter; outdated: OutdatedEvents },
): Promise<number> {
  let absences = 0;
  let knownTo = writer.committed.offsets;
  await outdated.find();
  for await (const batch of outdated.batches(AT_ONCE)) {
    const published = await writer.reissue(async (idOf) => {
      // An older event must never follow one that a sync has published meanwhile.
      if (hasMoved(knownTo, writer.committed.offsets)) await outdated.dropStale();
      const current = batch.filter(({ absenceId }) => outdated.has(absenceId));
      return current.map((event, index) => recordOf(work, event, idOf(index)));
    });
    knownTo = published.offsets;
    for (const { absenceId } of batch) outdated.drop(absenceId);
    absences += published.count;
    await work.report({ absences });
  }
  return absences;
}

function hasMoved(before: Offsets, now: Offsets): boolean {
  return !isDeepStrictEqual(offsetsOf(before, 'absence-changes'), offsetsOf(now, 'absence-changes'));
}

function recordOf(
  { parts: { tenantId, chains } }: OwnerWork,
  { absenceId, body, operation, modifiedAtMs, firstSequence }: RedactedEvent,
  id: string,
): OutgoingRecord {
  return {
    topic: 'absence-changes',
    key: absenceId,
    body,
    headers: absenceChangeHeaders({
      tenantId,
      id,
      operation: operationOf({ operation }),
      modifiedAtMs,
      hash: changeHash(body),
      firstSequence,
      mapping: chains?.reader.mapping,
    }),
  };
}
