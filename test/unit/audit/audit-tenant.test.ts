import { beforeEach, expect, it } from 'vitest';
import { auditTenant, type TopicAudit } from '../../../src/audit/audit-tenant.ts';
import type { LoggedRecord } from '../../../src/log/log.ts';
import { frame } from '../log/support/frame.ts';
import type { TopicSuffix } from '../../../src/model/collections.ts';
import type { Assembly } from '../../../src/session/assemble.ts';
import { memoryState } from '../../../src/state/memory-state.ts';

/** A content, as its hash. */
function hash(content: number): Buffer {
  return Buffer.alloc(16, content);
}

/** The topic `users` of a tenant with its index, of which a transaction may be applied later. */
class Mirrored {
  readonly state = memoryState('t');
  readonly #records: LoggedRecord[] = [];
  #sequence = 0;
  #applied = 0;
  /** Called before each read of `progress`. */
  beforeProgress = (): Promise<void> => Promise.resolve();
  /** Called in each pause. */
  inPause = (): Promise<void> => Promise.resolve();

  /** A record of another program, or of a transaction. */
  write(key: string, content: number | null): void {
    this.#records.push({
      topic: 'users',
      partition: 0,
      offset: this.#records.length,
      key,
      value: content === null ? null : frame(1, Buffer.alloc(0)),
      hash: content === null ? null : hash(content),
      mapping: null,
    });
  }

  /** Returns how to apply it to the index. */
  commit(key: string, content: number | null): () => Promise<void> {
    this.write(key, content);
    const sequence = (this.#sequence += 1);
    return async () => {
      const before = this.#applied === 0 ? null : `tx-${this.#applied}`;
      const at = { sequence, transactionId: `tx-${sequence}`, committedAtMs: 0, offsets: {} };
      const value = content === null ? null : hash(content);
      await this.state.collection('users').apply(before, at, [{ area: 'rows', key, value }]);
      this.#applied = sequence;
    };
  }

  async audit(): Promise<TopicAudit | undefined> {
    const log = {
      progress: async () => {
        await this.beforeProgress();
        return { progress: new Map([['users', { sequence: this.#sequence }]]) };
      },
      name: (topic: TopicSuffix) => `p.t.${topic}`,
      ranges: async (topics: readonly TopicSuffix[]) =>
        topics.map((topic) => ({
          topic,
          partitions: topic === 'users' ? [{ low: 0, high: this.#records.length }] : [],
        })),
      read: async ({ from, onBatch }: { from: { after: Record<string, number> }[]; onBatch: Take }) =>
        onBatch(this.#records.slice((from[0]?.after['p.t.users/0'] ?? -1) + 1)),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    const parts = {
      tenantId: 't',
      topicPrefix: 'p',
      state: this.state,
      collections: [{ name: 'users', reader: { hashOf: () => null } }],
      runtime: { sleep: () => this.inPause() },
    };
    const tenant = { ...parts, openReadOnlyLog: () => log };
    const assembly = { tenant: () => tenant, registry: { decodeOrNull: () => Promise.resolve({}) } };
    const { signal } = new AbortController();
    const options = { tenantId: 't', collections: ['users'] as const, onRead: () => undefined, signal };
    return (await auditTenant(assembly as unknown as Assembly, options))[0];
  }
}

type Take = (records: readonly LoggedRecord[]) => Promise<void>;

let mirrored: Mirrored;
beforeEach(async () => {
  mirrored = new Mirrored();
  await mirrored.commit('a', 1)();
  await mirrored.commit('b', 1)();
});

it('an audit finds what another program wrote, even while the owner keeps publishing', async () => {
  mirrored.write('a', 7);
  mirrored.write('b', null);
  mirrored.write('nobody', 7);
  let content = 10;
  mirrored.beforeProgress = async () => mirrored.commit('c', (content += 1))();
  expect((await mirrored.audit())?.findings.map(({ kind, key }) => `${kind} ${key}`)).toEqual([
    'different a',
    'missing b',
    'left-over nobody',
  ]);
});

it('an audit waits for an index or a topic that is behind, and reports no difference because of it', async () => {
  mirrored.inPause = mirrored.commit('a', 2);
  expect(await mirrored.audit()).toMatchObject({ keys: 2, findings: [], skipped: 0 });
  mirrored.inPause = () => Promise.resolve();
  let isFirst = true;
  mirrored.beforeProgress = async () => {
    if (isFirst) await mirrored.commit('a', 3)();
    isFirst = false;
  };
  expect(await mirrored.audit()).toMatchObject({ findings: [], skipped: 0 });
});

it('an audit counts the keys for which the index stays behind the log, but reports no difference', async () => {
  mirrored.commit('a', 2);
  expect(await mirrored.audit()).toMatchObject({ findings: [], skipped: 1 });
});

it('an audit compares nothing with an index that is lost', async () => {
  mirrored.write('a', 7);
  await mirrored.state.forget('users');
  expect(await mirrored.audit()).toMatchObject({ keys: 2, findings: [], skipped: 0 });
});

it('an audit reports more differences than a function call can have arguments', async () => {
  for (let at = 0; at < 150_000; at += 1) mirrored.write(`nobody-${at}`, 7);
  expect((await mirrored.audit())?.findings).toHaveLength(150_000);
});
