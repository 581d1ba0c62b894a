import { describe, expect, it } from 'vitest';
import { HubError } from '../../../src/hub/hub-error.ts';
import { HubFindings } from '../../../src/sync/hub-findings.ts';
import { CollectionRunner } from '../../../src/timetable/collection-runner.ts';
import type { SyncedCollection } from '../../../src/timetable/sync-timetable.ts';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';

/** Makes a runner whose syncs fail with an error before they read anything. */
function failingRunner(failure: Error) {
  const events: PipelineEvent[] = [];
  const parts = {
    collection: 'users',
    sync: {
      writer: {
        progress: null,
        known: { rows: 0 },
        committed: { isMappingNew: false, completeSinceMs: null },
      },
      identity: {
        isFlagged: () => false,
        clear: () => {
          throw failure;
        },
      },
      collection: 'users',
      settling: { missing: { owed: null } },
      findings: new HubFindings(),
      source: {},
    },
    hasIncremental: true,
    parents: () => 'ready',
    parent: null,
    deltaEveryMs: 2_000,
    now: () => 0,
    random: () => 1,
    // No incremental sync runs beside a full one.
    sleep: () => Promise.reject(new Error('over')),
    emit: (event: PipelineEvent) => events.push(event),
  } as unknown as SyncedCollection;
  return { runner: new CollectionRunner(parts), events };
}

async function retryAfter(retryAfterMs: number | undefined): Promise<number | null | undefined> {
  const error = new HubError('HUB_TOKEN_REFUSED', 'No token', { remedy: 'Check it.', retryAfterMs });
  const { runner, events } = failingRunner(error);
  const { signal } = new AbortController();
  await expect(runner.once('FULL', { signal, acceptNew: true })).rejects.toBe(error);
  return events.flatMap((event) => (event.type === 'sync-failed' ? [event.retryInMs] : []))[0];
}

describe('the next attempt of a failed sync', () => {
  it('is not before the hub accepts requests again, and the event gives that time', async () => {
    expect(await retryAfter(undefined)).toBe(2_000);
    expect(await retryAfter(500)).toBe(2_000);
    expect(await retryAfter(15_000)).toBe(15_000);
  });

  it('is after ten minutes at the latest, whatever the hub asks for', async () => {
    expect(await retryAfter(31_536_000_000)).toBe(600_000);
  });
});
