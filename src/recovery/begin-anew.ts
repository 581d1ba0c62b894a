import { forgetting, hiding } from '../absences/render-absences.ts';
import type { LoggedRecord, OutgoingRecord } from '../log/log.ts';
import { DERIVED_COLLECTIONS, STATE_TOPIC, type TopicSuffix } from '../model/collections.ts';
import type { Tenant } from '../table/tenant.ts';
import { offsetsWithout, STATE_COMPLETE, type Progress } from '../model/progress.ts';

const REMOVED_AT_ONCE = 5_000;
const ABSENCE_TOPICS = [...DERIVED_COLLECTIONS, STATE_TOPIC] as const;

/**
 * Nulls all keys of `absences`, `absence-changes` and `absence-state`, and records that absences begin with a first
 * load. `progress`: that of `absence-versions`. If it is interrupted, they are lost as before, and it can be repeated.
 */
export async function beginAbsencesAnew(
  tenant: Tenant,
  progress: Progress,
  signal: AbortSignal,
): Promise<{ progress: Progress; derived: readonly Progress[] }> {
  const { log, runtime } = tenant;
  const withdrawn = await record(tenant, progress, undefined);
  for (const topic of ABSENCE_TOPICS) {
    const keys = await liveKeys(tenant, topic, signal);
    for (let from = 0; from < keys.length; from += REMOVED_AT_ONCE) {
      const id = runtime.randomId();
      const some = keys.slice(from, from + REMOVED_AT_ONCE);
      await log.remove(some.map((key, at) => removalOf(tenant.tenantId, { topic, key, id: `${id}-${at}` })));
    }
  }
  return record(tenant, withdrawn.progress, STATE_COMPLETE);
}

async function record(
  { log, runtime }: Tenant,
  before: Progress,
  absenceState: string | undefined,
): Promise<{ progress: Progress; derived: readonly Progress[] }> {
  const next: Progress = {
    ...before,
    sequence: before.sequence + 1,
    transactionId: runtime.randomId(),
    complete: false,
    offsets: offsetsWithout(before.offsets, [STATE_TOPIC]),
    absenceState,
  };
  const derived = DERIVED_COLLECTIONS.map((collection): Progress =>
    Object.assign({}, next, {
      collection,
      offsets: {},
      lastCompleteFull: null,
      firstLoad: undefined,
      absenceState: undefined,
    }),
  );
  return log.commit({ records: [], lostTopics: ABSENCE_TOPICS, progress: next, derived });
}

async function liveKeys({ log }: Tenant, topic: TopicSuffix, signal: AbortSignal): Promise<string[]> {
  const keys = new Set<string>();
  await log.read({
    from: [{ topic, after: {} }],
    onBatch: (records: readonly LoggedRecord[]) => {
      for (const { key, value } of records) {
        if (value === null) keys.delete(key);
        else keys.add(key);
      }
      return Promise.resolve();
    },
    signal,
  });
  return [...keys];
}

function removalOf(
  tenantId: string,
  { topic, key, id }: { topic: TopicSuffix; key: string; id: string },
): OutgoingRecord {
  if (topic === STATE_TOPIC) return { topic, key, body: null, headers: {} };
  const removal = { tenantId, absenceId: key, id };
  return topic === 'absences' ? hiding(removal) : forgetting(removal);
}
