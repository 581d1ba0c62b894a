import { describe, expect, it } from 'vitest';
import { SyncRequests } from '../../../src/timetable/collection-runner.ts';
import type { SyncResult } from '../../../src/sync/sync-result.ts';

/** Sleeps until the signal aborts, however long it is to sleep. */
const sleep = (_ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
const { signal } = new AbortController();

describe('the requests for syncs that wait', () => {
  it('are taken in the order in which they came, and resolve with the result of the sync', async () => {
    const requests = new SyncRequests(sleep);
    const first = requests.add('FULL', {});
    void requests.add('INCREMENTAL', {});
    const result = { kind: 'complete' } as SyncResult;
    const taken = requests.takeFirst();
    taken?.done.resolve(result);
    expect(taken?.mode).toBe('FULL');
    expect(await first).toBe(result);
    expect(requests.takeFirst()?.mode).toBe('INCREMENTAL');
    expect(requests.takeFirst()).toBeUndefined();
  });

  it('are rejected with the error that ends the runner, and so is a request that comes after the end', async () => {
    const requests = new SyncRequests(sleep);
    const end = new Error('the log failed');
    const waiting = requests.add('FULL', {});
    requests.end(end);
    await expect(waiting).rejects.toBe(end);
    await expect(requests.add('FULL', {})).rejects.toBe(end);
  });
});

describe('the rest of a loop', () => {
  it('ends when a request comes', async () => {
    const requests = new SyncRequests(sleep);
    const rest = requests.rest(3_600_000, signal);
    requests.add('FULL', {}).catch(() => undefined);
    await expect(rest).resolves.toBeUndefined();
  });

  it('does not begin while a request waits', async () => {
    const requests = new SyncRequests(sleep);
    requests.add('FULL', {}).catch(() => undefined);
    await expect(requests.rest(3_600_000, signal)).resolves.toBeUndefined();
  });
});
