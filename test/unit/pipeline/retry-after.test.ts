import { describe, expect, it } from 'vitest';
import { HubError } from '../../../src/hub/hub-error.ts';
import { CollectionRunner } from '../../../src/timetable/collection-runner.ts';
import { madeCollection } from './support/made-collection.ts';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';

/** Makes a runner whose syncs fail with an error before they read anything. */
async function failingRunner(failure: Error) {
  const events: PipelineEvent[] = [];
  const own = await madeCollection({
    commit: () => Promise.reject(failure),
    tenant: { emit: (event) => events.push(event) },
    // No incremental sync runs beside a full one.
    runtime: { sleep: () => Promise.reject(new Error('over')) },
    own: { requireRecords: () => Promise.reject(failure) },
  });
  return { runner: new CollectionRunner(own), events };
}

async function retryAfter(retryAfterMs: number | undefined): Promise<number | null | undefined> {
  const error = new HubError('HUB_TOKEN_REFUSED', 'No token', { remedy: 'Check it.', retryAfterMs });
  const { runner, events } = await failingRunner(error);
  const { signal } = new AbortController();
  await expect(runner.once('FULL', { signal })).rejects.toBe(error);
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
