import { countOf, outOf } from '../../core/words.ts';
import type { TenantConfig } from '../../config.ts';
import { createRegistryInspection } from '../../log/registry/inspect-registry.ts';
import { kafkaError } from '../../log/kafka-errors.ts';
import { innermost } from '../../log/kafka-failure.ts';
import { grantedTogether, missingRights, rightsMissing } from '../../log/rights.ts';
import {
  createMissingTopics,
  inspectTopics,
  topicMismatch,
  type WantedTopic,
} from '../../log/topic-settings.ts';
import { readSchemaFiles } from '../../log/registry/schema-files.ts';
import { STATE_TOPIC } from '../../model/collections.ts';
import { registryConnection, type Assembly } from '../../session/assemble.ts';
import { topicsOf, usedResources } from '../../session/used-in-kafka.ts';
import { requireKafka } from '../verb-parts.ts';
import { failure, failureOf, ok, warning, type Finding } from './finding.ts';

/** Checks Kafka: connection, credentials, rights, topics against the contract. Creates and alters nothing. */
export async function* checkKafka(
  assembly: Assembly,
  tenants: readonly TenantConfig[],
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const { config, kafka } = assembly;
  const { sasl, topicPrefix } = config.kafka;
  const user =
    sasl && ('username' in sasl ? sasl.username : 'clientId' in sasl ? sasl.clientId : sasl.mechanism);
  const as = user === undefined ? '' : `, as ${user}`;
  const topics = tenants.flatMap((tenant) => topicsOf(config, tenant));
  await requireKafka(assembly, signal);
  yield* brokersFound(await kafka.tryEach(topics.map(({ name }) => name)), as);
  const denied = await missingRights(kafka, usedResources(config, tenants));
  if (denied.length === 0)
    yield ok(
      'rights',
      `all rights on topics, transactional ids and groups with the prefix ${topicPrefix} are granted`,
    );
  for (const some of grantedTogether(denied)) yield failureOf('rights', rightsMissing(some));
  if (denied.some(({ on }) => on === 'topic')) {
    yield warning('topics', 'not compared: a right on them is missing', 'Check again when it is granted.');
    return;
  }
  const inspected = await inspectTopics(kafka, topics);
  const mismatch = topicMismatch(inspected);
  const missing = inspected.filter(({ exists }) => !exists).length;
  yield mismatch === null
    ? ok(
        'topics',
        `${topics.length - missing} as in the contract, ${missing} to be created when Rollcall starts`,
      )
    : failureOf('topics', mismatch);
  try {
    // The broker tests policies and the number of brokers (KIP-4).
    await createMissingTopics(kafka, inspected, { validateOnly: true });
  } catch (error) {
    yield failureOf('creation', error);
  }
}

/** `tried`: for each address, the error of the attempt, or null if a broker answered. `as`: how the process logs in. */
export function* brokersFound(tried: ReadonlyMap<string, unknown>, as: string): Generator<Finding> {
  const answering = [...tried.keys()].filter((address) => tried.get(address) === null);
  const share =
    answering.length === tried.size ? '' : `; answers from ${outOf(answering.length, tried.size)} brokers`;
  if (answering.length > 0) yield ok('connection', `${answering.join(', ')}${as}${share}`);
  for (const [address, error] of tried) {
    if (error === null) continue;
    const { message, remedy } = kafkaError(error, 'connecting');
    const isGone = innermost(error).code === 'ECONNREFUSED';
    const why = isGone ? 'nothing listens there (ECONNREFUSED)' : message;
    yield failure('connection', `${address}: ${why}`, remedy);
  }
}

/** Checks the registry: connection, compatibility levels, and schemas. Registers nothing. */
export async function* checkRegistry(
  { config }: Assembly,
  wanted: readonly WantedTopic[],
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const inspection = createRegistryInspection(registryConnection(config.registry));
  const schemas = readSchemaFiles();
  const count = await inspection.subjectCount(signal);
  yield ok('connection', `${config.registry.url}, ${countOf(count, 'subject')}`);
  const framed = wanted.filter(({ suffix }) => suffix !== STATE_TOPIC);
  for (const [tenant, topics] of Map.groupBy(framed, ({ tenantId }) => tenantId)) {
    const subject = `schemas of ${tenant}`;
    const found = await Promise.all(
      topics.map(({ name, suffix }) =>
        inspection.subject(`${name}-value`, schemas.get(suffix) ?? {}, signal),
      ),
    );
    const wrong = found.flatMap(({ problems }) => problems.map((error) => failureOf(subject, error)));
    const registered = found.filter((each) => each.registered).length;
    const text = `${registered} registered, none known to be incompatible, ${found.length - registered} to be registered when Rollcall starts`;
    yield* wrong.length > 0 ? wrong : [ok(subject, text)];
  }
}

/** Checks Redis: connection, eviction policy and rights. Leaves nothing there. */
export async function* checkRedis({ config, store }: Assembly): AsyncGenerator<Finding> {
  if (config.redis !== undefined) await store.ready();
  yield ok(
    'index',
    config.redis === undefined
      ? 'no Redis is configured: the index lives in memory and is rebuilt from the topics at each start'
      : 'Redis permits scripts, reading and writing, and evicts nothing',
  );
}
