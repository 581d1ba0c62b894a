import { absenceRemoval } from '../absences/render-absences.ts';
import type { OutgoingRecord } from '../log/log.ts';
import { DERIVED_COLLECTIONS, STATE_TOPIC, type TopicSuffix } from '../model/collections.ts';
import type { Tenant } from '../table/tenant.ts';
import { STATE_COMPLETE, type DecisionRecord, type Progress } from '../model/progress.ts';
import { withoutChangelog } from './topic-losses.ts';

const REMOVED_AT_ONCE = 5_000;
const ABSENCE_TOPICS = [...DERIVED_COLLECTIONS, STATE_TOPIC] as const;

/**
 * Publishes a null for every key of `absences`, `absence-changes` and `absence-state`, and records that absences
 * begin with a first load, and who decided this. `progress`: the record of `absence-versions`. If this is
 * interrupted, absences are lost as before, and it can be repeated.
 */
export async function resetAbsences(
  { log, runtime, tenantId }: Tenant,
  { progress, decision, signal }: { progress: Progress; decision: DecisionRecord; signal: AbortSignal },
): Promise<{ progress: Progress; derived: readonly Progress[] }> {
  const begun = withoutChangelog(progress);
  const nothing = { offsets: {}, lastCompleteFull: null, firstLoad: undefined };
  let last: { progress: Progress; derived: readonly Progress[] } = {
    progress: begun,
    derived: DERIVED_COLLECTIONS.map((collection) => Object.assign({}, begun, nothing, { collection })),
  };
  const commit = async (
    records: readonly OutgoingRecord[],
    { absenceState, decisions }: { absenceState?: string; decisions?: readonly DecisionRecord[] } = {},
  ): Promise<void> => {
    const sequence = last.progress.sequence + 1;
    const transaction = { sequence, transactionId: runtime.randomId(), complete: false };
    last = await log.commit({
      records,
      decisions,
      lostTopics: ABSENCE_TOPICS,
      progress: { ...last.progress, ...transaction, absenceState },
      derived: last.derived.map((each) => Object.assign({}, each, transaction)),
    });
  };
  await commit([]);
  for (const topic of ABSENCE_TOPICS) {
    const keys = await liveKeys(log, topic, signal);
    for (let from = 0; from < keys.length; from += REMOVED_AT_ONCE) {
      const id = runtime.randomId();
      const some = keys.slice(from, from + REMOVED_AT_ONCE);
      const removals = some.map((key, at) =>
        topic === STATE_TOPIC
          ? { topic, key, body: null, headers: {} }
          : absenceRemoval(topic, { tenantId, absenceId: key, id: `${id}-${at}` }),
      );
      await commit(removals);
    }
  }
  await commit([], { absenceState: STATE_COMPLETE, decisions: [decision] });
  return last;
}

async function liveKeys(log: Tenant['log'], topic: TopicSuffix, signal: AbortSignal): Promise<string[]> {
  const keys = new Set<string>();
  await log.read({
    from: [{ topic, after: {} }],
    onBatch(records) {
      for (const { key, value } of records) {
        if (value === null) keys.delete(key);
        else keys.add(key);
      }
    },
    signal,
  });
  return [...keys];
}
