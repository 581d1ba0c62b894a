import { expect, it, vi } from 'vitest';
import { TenantRun } from '../../../src/worker/worker.ts';
import { openMirror } from '../../integration/support/mirror.ts';
import { limitProducers } from '../support/client-quota.ts';
import { startOwnKafka } from '../support/own-kafka.ts';

const BYTES_PER_SECOND = 20_000;
const HALF_OF_TIMEOUT_MS = 30_000;
/** More than the quota lets through within the time-out of a transaction. */
const PAGE_BYTES = 1_500_000;

it('a first load under a quota ends, with at most one transaction that outlives its time-out, and status says why it is slow', async () => {
  await using kafka = await startOwnKafka();
  const [broker = ''] = kafka.brokers;
  await using mirror = await openMirror({
    collections: ['orgs', 'users'],
    settings: { kafka: { brokers: kafka.brokers } },
  });
  const { district } = mirror.hub;
  const ids = district.ids('users').slice(0, 500);
  for (const id of ids)
    district.patch('users', id, { metadata: { text: 'x'.repeat(PAGE_BYTES / ids.length) } });
  await limitProducers(broker, { clientId: 'rollcall', bytesPerSecond: BYTES_PER_SECOND });
  const stop = new AbortController();
  const running = new TenantRun(mirror.parts).mirror(stop.signal);
  try {
    await vi.waitFor(() => expect(mirror.statusText()).toContain('throttled by the broker'), 150_000);
    await vi.waitFor(
      () =>
        expect(mirror.events).toContainEqual(
          expect.objectContaining({ type: 'sync-ended', collection: 'users', outcome: 'complete' }),
        ),
      { timeout: 300_000, interval: 500 },
    );
  } finally {
    stop.abort();
    await running;
  }
  const failed = mirror.events.filter(({ type }) => type === 'commit-failed');
  expect(failed.length).toBeLessThanOrEqual(1);
  const took = mirror.events.flatMap((event) => (event.type === 'committed' ? [event.durationMs] : []));
  expect(Math.max(...took)).toBeLessThan(1.5 * HALF_OF_TIMEOUT_MS);
}, 600_000);
