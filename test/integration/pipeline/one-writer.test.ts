import { expect, it } from 'vitest';
import { loadConfig } from '../../../src/config.ts';
import type { KafkaConnections } from '../../../src/log/wire/kafka-connections.ts';
import { assemble } from '../../../src/session/assemble.ts';
import { askedFor } from '../../unit/log/support/asked-for.ts';
import { openMirror, type Mirror } from '../support/mirror.ts';

const COLLECTIONS = ['users', 'orgs'] as const;
const OPTIONS = {
  collections: COLLECTIONS,
  hubSettings: { pageSize: 20 },
  tenant: { incrementalEvery: '1s' },
};
const { signal: NEVER } = new AbortController();

interface Hooks {
  /** Comes before a producer fences the older ones. */
  readonly fences?: () => Promise<void>;
  /** Comes before the nth transaction that any producer begins from now on. */
  readonly begins?: (nth: number) => Promise<void> | undefined;
}

/** Hooks what the producers of one process ask of the coordinator, at their connections. */
function hook(kafka: KafkaConnections, { fences, begins }: Hooks): void {
  let begun = 0;
  let isInTransaction = false;
  const ask = kafka.ask.bind(kafka);
  kafka.ask = async <Answer>(...asked: Parameters<KafkaConnections['ask']>): Promise<Answer> => {
    const { name } = askedFor(asked[1]);
    if (name === 'InitProducerId') await fences?.();
    if (name === 'AddPartitionsToTxn' && !isInTransaction) {
      isInTransaction = true;
      begun += 1;
      await begins?.(begun);
    }
    if (name === 'EndTxn') isInTransaction = false;
    return ask<Answer>(...asked);
  };
}

/** Keys with more than one record. */
async function keysPublishedTwice(mirror: Mirror, collection: string): Promise<string[]> {
  const keys = (await mirror.records(collection)).map(({ key }) => key);
  return keys.filter((key, at) => keys.indexOf(key) !== at);
}

/** Opens a second process of the tenant, which takes it over. */
const openNewer = ({ hub, topicPrefix }: Mirror): Promise<Mirror> =>
  openMirror({ ...OPTIONS, hub, topicPrefix });

/** A second process of the tenant, which has not taken it over yet. */
function startedBeside({ configText }: Mirror) {
  const config = loadConfig({ path: 'rollcall.yaml', env: {}, readFile: () => configText });
  return assemble(config);
}

it('an older process does not fence a newer process, but loses the tenant', async () => {
  await using older = await openMirror(OPTIONS);
  await older.full();
  await using newer = await openNewer(older);
  const { district } = older.hub;
  const [id = ''] = district.ids('users');
  district.patch('users', id, { givenName: 'Somebody Else' });
  const [fenced] = await older.attempt('INCREMENTAL', 'users');
  expect(fenced?.error).toMatchObject({ code: 'KAFKA_FENCED' });
  await expect(older.parts.log.own(NEVER)).rejects.toMatchObject({ code: 'OWNERSHIP_LOST' });
  await newer.incremental();
  expect(await keysPublishedTwice(newer, 'users')).toEqual([id]);
  expect(await newer.differences()).toEqual({});
});

it('a process that is slow to take over does not displace a process that took over meanwhile', async () => {
  await using first = await openMirror(OPTIONS);
  await using slow = startedBeside(first);
  await using later = new AsyncDisposableStack();
  let newer = null as Mirror | null;
  await using tenant = slow.tenant('north');
  await tenant.prepare();
  hook(slow.kafka, {
    fences: async () => {
      newer ??= later.use(await openNewer(first));
    },
  });
  await expect(tenant.log.own(NEVER)).rejects.toMatchObject({ code: 'OWNERSHIP_LOST' });
  await newer?.parts.log.own(NEVER);
  await expect(tenant.log.own(NEVER)).rejects.toMatchObject({ code: 'OWNERSHIP_LOST' });
});

it('a take-over that the older process interrupts succeeds at the second attempt', async () => {
  await using older = await openMirror(OPTIONS);
  const { log } = older.parts;
  await using assembly = startedBeside(older);
  await using tenant = assembly.tenant('north');
  await tenant.prepare();
  hook(assembly.kafka, {
    begins: async (nth) => {
      if (nth === 2) await log.own(NEVER);
    },
  });
  await expect(tenant.log.own(NEVER)).rejects.toMatchObject({ code: 'KAFKA_FENCED' });
  await tenant.log.own(NEVER);
  await expect(log.own(NEVER)).rejects.toMatchObject({ code: 'OWNERSHIP_LOST' });
});
