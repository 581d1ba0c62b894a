import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { topicSettings } from '../../../src/log/topic-settings.ts';
import { COLLECTIONS, type TopicSuffix } from '../../../src/model/collections.ts';
import { settingsOf } from '../pipeline/recreate-topic.ts';
import { withAdmin } from '../pipeline/kafka-admin.ts';
import { openMirror, type Mirror } from '../support/mirror.ts';
import { configFile } from './support/config-file.ts';
import { rollcall } from './support/rollcall.ts';

interface Channel {
  readonly address: string;
  readonly messages: Readonly<Record<string, { $ref: string }>>;
  readonly bindings: {
    kafka: { partitions: number; topicConfiguration: Record<string, number | string[]> };
  };
}

interface Contract {
  readonly channels: Readonly<Record<string, Channel>>;
  readonly components: {
    readonly messages: Readonly<Record<string, { headers: z.core.JSONSchema.BaseSchema }>>;
    readonly schemas: Readonly<Record<string, { schema: object }>>;
  };
}

let mirror: Mirror;
let contract: Contract;
beforeAll(async () => {
  mirror = await openMirror({
    hubOptions: { students: 10 },
    collections: { 'class-students': { enabled: true }, users: { drop: ['email'] } },
    settings: { kafka: { partitions: { default: 2, users: 4 } } },
  });
  const { district } = mirror.hub;
  district.put('enrollments', { sourcedId: 42 }, { id: 'odd' });
  await mirror.full();
  const [user = ''] = district.ids('users');
  district.remove('users', user);
  await mirror.full();
  using file = configFile(mirror.configText);
  const { stdout } = await rollcall(file.path, 'contract', '--json');
  contract = JSON.parse(stdout) as Contract;
});
afterAll(() => mirror?.[Symbol.asyncDispose]());

const suffixOf = (topic: string): TopicSuffix => topic.split('.').at(-1) as TopicSuffix;

describe('contract', () => {
  it('names each topic of the tenant but the internal one, with its partitions and settings', async () => {
    await withAdmin(async (admin) => {
      const prefix = `${mirror.topicPrefix}.`;
      const topics = (await admin.listTopics()).filter((name) => name.startsWith(prefix)).sort();
      expect([...Object.keys(contract.channels), `${prefix}north.absence-state`].sort()).toEqual(topics);
      const metadata = await admin.fetchTopicMetadata({ topics });
      for (const [name, { bindings }] of Object.entries(contract.channels)) {
        const found = metadata.topics.find((topic) => topic.name === name);
        expect([name, bindings.kafka.partitions]).toEqual([name, found?.partitions.length]);
        const settings = await settingsOf(admin, name);
        const wanted = topicSettings(suffixOf(name)).map((each) => each.name);
        expect(Object.keys(bindings.kafka.topicConfiguration)).toEqual(wanted);
        for (const [setting, value] of Object.entries(bindings.kafka.topicConfiguration)) {
          const actual = settings.find((each) => each.name === setting)?.value;
          expect([setting, String(value)]).toEqual([setting, actual]);
        }
      }
    });
  });

  it('has the schema that the registry has for each topic', async () => {
    for (const name of Object.keys(contract.channels)) {
      const response = await fetch(`${inject('stack').registryUrl}/subjects/${name}-value/versions/latest`);
      const { schema } = (await response.json()) as { schema: string };
      expect(contract.components.schemas[suffixOf(name)]?.schema).toEqual(JSON.parse(schema));
    }
  });

  it('describes the headers of every record, with and without a value', async () => {
    const met = { values: new Set<string>(), removals: new Set<string>() };
    for (const [name, { messages }] of Object.entries(contract.channels)) {
      const [value, removal] = Object.values(messages).map(({ $ref }) => {
        const message = contract.components.messages[$ref.split('/').at(-1) ?? ''];
        return z.fromJSONSchema(message?.headers ?? {});
      });
      for (const record of await mirror.records(suffixOf(name))) {
        const schema = record.value === null ? removal : value;
        expect(() => schema?.parse(record.headers)).not.toThrow();
        met[record.value === null ? 'removals' : 'values'].add(suffixOf(name));
      }
    }
    expect([...met.removals]).toEqual(['users']);
    // this district has no lessons and no afterschool
    const empty = new Set(['afterschool-users', 'schedules']);
    const filled = [...COLLECTIONS, 'rejects', 'progress'].filter((name) => !empty.has(name));
    expect([...met.values].filter((name) => !empty.has(name)).toSorted()).toEqual(filled.toSorted());
  });
});
