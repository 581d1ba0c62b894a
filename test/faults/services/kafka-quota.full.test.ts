import { expect, it, vi } from 'vitest';
import { openMirror } from '../../integration/support/mirror.ts';
import { startOwnKafka } from '../support/kafka.ts';

const BYTES_PER_SECOND = 20_000;
const HALF_OF_TIMEOUT_MS = 30_000;
/** More than the quota lets through within the time-out of a transaction. */
const PAGE_BYTES = 1_500_000;

it('a first load under a Kafka quota completes, and status says that the broker throttles the tenant', async () => {
  await using kafka = await startOwnKafka({}, 1);
  await using mirror = await openMirror({
    collections: ['orgs', 'users'],
    settings: { kafka: { brokers: kafka.brokers, replicationFactor: 1 } },
  });
  const { district } = mirror.hub;
  const ids = district.ids('users').slice(0, 500);
  for (const id of ids)
    district.patch('users', id, { metadata: { text: 'x'.repeat(PAGE_BYTES / ids.length) } });
  // Kafka knows the client, but not its tenants.
  const client = ['--entity-type', 'clients', '--entity-name', 'rollcall'];
  const quota = ['--alter', '--add-config', `producer_byte_rate=${BYTES_PER_SECOND}`];
  expect(await kafka.tool('kafka.admin.ConfigCommand', [...client, ...quota])).toMatchObject({ code: 0 });
  const statusSays = (text: string) => expect(mirror.statusText()).toContain(text);
  {
    await using _ = mirror.run();
    await vi.waitFor(() => statusSays('throttled by the broker'), 150_000);
    const loaded = { type: 'sync-ended', collection: 'users', outcome: 'complete' };
    await vi.waitFor(() => expect(mirror.events).toContainEqual(expect.objectContaining(loaded)), 300_000);
  }
  expect(mirror.events.filter(({ type }) => type === 'commit-failed').length).toBeLessThanOrEqual(1);
  const took = mirror.events.flatMap((event) => (event.type === 'committed' ? [event.durationMs] : []));
  expect(Math.max(...took)).toBeLessThan(1.5 * HALF_OF_TIMEOUT_MS);
}, 600_000);
