import { readFileSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Kafka, Producer, Transaction as KafkaTransaction } from 'kafkajs';
import { pino } from 'pino';
import { loadConfig } from '../../../src/config.ts';
import type { Hub } from '../../../src/hub/hub.ts';
import { assemble } from '../../../src/session/assemble.ts';
import { TenantRun } from '../../../src/worker/worker.ts';
import type { TenantSession } from '../../../src/session/open-session.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import type { TenantLog } from '../../../src/log/log.ts';
import type {
  CollectionIndex,
  DeletionMemory,
  IndexReplay,
  TenantState,
} from '../../../src/state/index-store.ts';
import { approve } from '../../integration/support/decide-deletes.ts';
import type { Mirror } from '../../integration/support/mirror.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import type { MissingKeys } from '../../../src/core/deletions/missing.ts';
import type { KillPoint } from './points.ts';

/**
 * Mirrors tenant `north` by full syncs of everything, with incremental syncs in between, until it kills or stops itself:
 * `mortal-main.ts <config> <point> <n> SIGKILL|SIGSTOP [approve]`, when it reaches the point (`points.ts`) for the nth time.
 * With `approve` it only approves the withheld deletions of `users`. It exits with 1 when it is superseded.
 */

const [configPath = '', point = '', nth = '1', signal = 'SIGKILL', decision = ''] = process.argv.slice(2);
let met = 0;

/** Returns at once, or when the process is woken, or never. */
function sync(here: KillPoint): void {
  if (here !== point) return;
  met += 1;
  if (met !== Number(nth)) return;
  writeSync(1, 'at the point\n');
  process.kill(process.pid, signal);
}

function mortalKafka(kafka: Kafka): void {
  const createProducer = kafka.producer.bind(kafka);
  kafka.producer = (options) => {
    const producer = createProducer(options);
    const begin = producer.transaction.bind(producer);
    producer.transaction = async () => mortalTransaction(await begin());
    return producer;
  };
}

/** The first keys that are sent in a transaction show its purpose. */
function mortalTransaction(transaction: KafkaTransaction): KafkaTransaction {
  const real = {
    send: transaction.send.bind(transaction),
    sendBatch: transaction.sendBatch.bind(transaction),
    commit: transaction.commit.bind(transaction),
    abort: transaction.abort.bind(transaction),
  };
  let kind: 'data' | 'owner' | 'seal' = 'data';
  const isOf = (wanted: typeof kind): boolean => kind === wanted;
  const mortal: Pick<Producer, 'send' | 'sendBatch'> & Pick<KafkaTransaction, 'commit' | 'abort'> = {
    async send(record) {
      if (record.messages[0]?.key === '@owner') kind = 'owner';
      if (isOf('data')) sync('data sent, progress not');
      return real.send(record);
    },
    async sendBatch(batch) {
      if (batch.topicMessages?.[0]?.messages[0]?.key === '@seal') kind = 'seal';
      if (isOf('data')) sync('decided, nothing sent');
      return real.sendBatch(batch);
    },
    async commit() {
      sync(isOf('owner') ? 'owner sent, not committed' : 'all sent, commit not asked for');
      isCommitting = isOf('data');
      await real.commit();
      isCommitting = false;
    },
    async abort() {
      if (isOf('seal')) sync('ends marked, not aborted');
      await real.abort();
    },
  };
  return Object.assign(transaction, mortal);
}

const END_TXN = 26;
let isCommitting = false;

/** A request begins with its size and its API key (Kafka protocol, "Requests"). */
function mortalSockets(): void {
  const sockets: { write: (this: Socket, ...args: unknown[]) => boolean } = Socket.prototype as never;
  const { write } = sockets;
  sockets.write = function mortalWrite(...args) {
    const result = Reflect.apply(write, this, args);
    const [chunk] = args;
    const asksToEnd = Buffer.isBuffer(chunk) && chunk.length > 6 && chunk.readInt16BE(4) === END_TXN;
    // The request is so small that the kernel has it at once.
    if (isCommitting && asksToEnd) sync('commit asked for, not answered');
    return result;
  };
}

function mortalHub(hub: Hub): Hub {
  return {
    findRows: (options) => hub.findRows(options),
    async *readPages(options) {
      const pages = hub.readPages(options);
      for (;;) {
        const next = await pages.next();
        if (next.done === true) return next.value;
        sync('a page is fetched, nothing decided');
        yield next.value;
      }
    },
  };
}

/** The collections with committed removals that the memory of deletions does not know yet. */
const removedFrom = new Set<CollectionName>();

function mortalLog(log: TenantLog): TenantLog {
  return {
    ...forwarding(log),
    async own(signal) {
      const ownership = await log.own(signal);
      sync('owner committed');
      return ownership;
    },
    async commit(transaction) {
      if (transaction.progress.complete) sync('all committed but the watermark');
      const committed = await log.commit(transaction);
      if (transaction.records.some(({ topic, body }) => topic !== 'rejects' && body === null))
        removedFrom.add(transaction.progress.collection);
      return committed;
    },
    read: (options) =>
      log.read({
        ...options,
        onBatch: async (records) => {
          await options.onBatch(records);
          sync('during the replay');
        },
      }),
  };
}

/** All methods of an object, to be spread: each still works on the object itself. */
function forwarding<T extends object>(target: T): T {
  const names: string[] = [];
  for (let from: object = target; from !== Object.prototype; from = Object.getPrototypeOf(from) as object)
    names.push(...Object.getOwnPropertyNames(from));
  return Object.fromEntries(
    names
      .map((name) => [name, (target as Record<string, unknown>)[name]] as const)
      .filter(([name, method]) => name !== 'constructor' && typeof method === 'function')
      .map(([name, method]) => [name, (method as () => unknown).bind(target)]),
  ) as T;
}

function mortalIndex(index: CollectionIndex): CollectionIndex {
  const mortalReplay = (replay: IndexReplay): IndexReplay => ({
    write: (changes) => replay.write(changes),
    lookup: (area, keys) => replay.lookup(area, keys),
    entries: (area) => replay.entries(area),
    async finish(position) {
      sync('replayed, not finished');
      await replay.finish(position);
      sync('replay finished');
    },
  });
  return {
    position: () => index.position(),
    lookup: (area, keys, expected) => index.lookup(area, keys, expected),
    count: (area) => index.count(area),
    keys: (area) => index.keys(area),
    entries: (area) => index.entries(area),
    rebuild: async () => mortalReplay(await index.rebuild()),
    resume: async (from) => mortalReplay(await index.resume(from)),
    async apply(previous, position, changes) {
      sync('committed, index not written');
      await index.apply(previous, position, changes);
      sync('index written, next not begun');
    },
  };
}

function mortalMemory(memory: DeletionMemory): DeletionMemory {
  const known = new Map<CollectionName, MissingKeys>();
  return {
    async missing(collection) {
      const missing = await memory.missing(collection);
      if (missing !== null) known.set(collection, missing.keys);
      return missing;
    },
    async setMissing(collection, missing) {
      const before = known.get(collection);
      if (missing !== null) known.set(collection, missing.keys);
      const hasMissing = missing !== null && missing.keys.size > 0;
      // Rows that came back leave it, and nothing else changes.
      const isDrop =
        missing !== null &&
        before !== undefined &&
        missing.keys.size < before.size &&
        isPart(missing.keys, before);
      if (removedFrom.delete(collection)) sync('removals committed, memory not written');
      else if (hasMissing && !isDrop) sync('misses committed, memory not written');
      await memory.setMissing(collection, missing);
      if (isDrop) sync('seen rows dropped, not committed');
      else if (hasMissing) sync('missing rows written');
    },
  };
}

function isPart(keys: MissingKeys, of: MissingKeys): boolean {
  return [...keys].every(([key, { times }]) => of.get(key)?.times === times);
}

function mortalState(state: TenantState): TenantState {
  return {
    collection: (name) => mortalIndex(state.collection(name)),
    deletions: mortalMemory(state.deletions),
    forget: (name) => state.forget(name),
  };
}

async function readOnAndOn({ runners }: TenantSession): Promise<void> {
  const loops = [...runners.values()].map(async (runner) => {
    for (;;) await runner.request('FULL');
  });
  await Promise.all(loops);
}

/** A sync beside it may change the list between the look and the approval: then nothing is removed, and one looks again. */
async function approveAgain(asked: Mirror): Promise<void> {
  while ((await approve(asked)).size === 0);
  console.error('approved');
}

const config = loadConfig({ path: configPath, env: {}, readFile: (path) => readFileSync(path, 'utf8') });
const assembly = assemble(config, {
  logger: pino({ level: 'silent' }),
  emit: (_, event) => {
    if (event.type === 'session-failed') console.error(event.error);
    // The end of a session ends its syncs; a new session follows.
    if (event.type === 'session-opened' && run.session !== null) begin(run.session);
  },
});
mortalKafka(assembly.kafka);
mortalSockets();
const parts = assembly.tenant('north');
const mortal: Tenant = {
  ...parts,
  hub: mortalHub(parts.hub),
  log: mortalLog(parts.log),
  state: mortalState(parts.state),
};
const run = new TenantRun(mortal);
console.error(await run.mirror(new AbortController().signal));
process.exit(1);

function begin(session: TenantSession): void {
  const asked = { session, parts: mortal } as Mirror;
  const work = decision === 'approve' ? approveAgain(asked) : readOnAndOn(session);
  // An event says why the session ended.
  work.catch(() => undefined);
}
