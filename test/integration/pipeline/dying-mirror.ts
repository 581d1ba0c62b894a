import { readFileSync } from 'node:fs';
import type { Kafka } from 'kafkajs';
import { pino } from 'pino';
import { loadConfig } from '../../../src/config.ts';
import { assemble } from '../../../src/session/assemble.ts';
import { openSession } from '../../../src/session/open-session.ts';
import { syncOnce } from '../support/sync-once.ts';
import type { CollectionIndex, TenantState } from '../../../src/state/index-store.ts';

/**
 * Runs a full sync of `users` and kills itself at one point of it:
 * `dying-mirror.ts <config> commit|index <n>`: before the nth commit (the take-over is the first), or after a
 * commit and before the nth write to the index.
 */

const [configPath = '', point = '', nth = ''] = process.argv.slice(2);
const at = Number(nth);
let count = 0;

async function die(): Promise<void> {
  process.kill(process.pid, 'SIGKILL');
  await new Promise(() => undefined);
}

function dieBeforeCommit(kafka: Kafka): void {
  const createProducer = kafka.producer.bind(kafka);
  kafka.producer = (options) => {
    const producer = createProducer(options);
    const begin = producer.transaction.bind(producer);
    producer.transaction = async () => {
      const transaction = await begin();
      const commit = transaction.commit.bind(transaction);
      return Object.assign(transaction, {
        commit: async () => {
          count += 1;
          if (count === at) await die();
          await commit();
        },
      });
    };
    return producer;
  };
}

function dieBeforeIndex(state: TenantState): TenantState {
  const wrap = (index: CollectionIndex): CollectionIndex => ({
    position: () => index.position(),
    lookup: (area, keys, expected) => index.lookup(area, keys, expected),
    count: (area) => index.count(area),
    keys: (area) => index.keys(area),
    entries: (area) => index.entries(area),
    rebuild: () => index.rebuild(),
    resume: (from) => index.resume(from),
    async apply(previous, position, changes) {
      count += 1;
      if (count === at) await die();
      await index.apply(previous, position, changes);
    },
  });
  return {
    deletions: state.deletions,
    collection: (name) => wrap(state.collection(name)),
    forget: (name) => state.forget(name),
  };
}

const config = loadConfig({ path: configPath, env: {}, readFile: (path) => readFileSync(path, 'utf8') });
const assembly = assemble(config, { logger: pino({ level: 'silent' }), emit: () => undefined });
const parts = assembly.tenant('north');
if (point === 'commit') dieBeforeCommit(assembly.kafka);
const state = point === 'index' ? dieBeforeIndex(parts.state) : parts.state;
const { signal } = new AbortController();
const session = await openSession({ ...parts, state }, signal);
process.stdout.write('owned\n');
const results = await syncOnce(session, { collections: ['users'], mode: 'FULL', signal });
process.stdout.write(`survived ${count}: ${results.map(({ error }) => String(error)).join()}\n`);
process.exit(1);
