import kafkajs from 'kafkajs';
import { named } from '../core/health/decisions.ts';
import { RollcallError } from '../errors.ts';
import { typeOf, wholeRequest } from './wire/kafka-broker.ts';
import type { KafkaConnections } from './wire/kafka-connections.ts';
import { kafkaError } from './kafka-errors.ts';

// kafkajs is CommonJS, and Node finds only some of its names.
const { TOPIC } = kafkajs.ConfigResourceTypes;

/** A right as kafka-acls grants it. */
export interface Right {
  readonly operation: 'Create' | 'Describe' | 'DescribeConfigs' | 'Read' | 'Write';
  readonly on: 'topic' | 'group' | 'transactional-id';
  readonly names: readonly string[];
}

/** Rights on the same resources, which one command of kafka-acls grants. */
export function grantedTogether(rights: readonly Right[]): readonly [Right, ...Right[]][] {
  return [...Map.groupBy(rights, ({ on, names }) => `${on} ${names.join()}`).values()] as [
    Right,
    ...Right[],
  ][];
}

/** The error for rights that Kafka denies; there must be one. */
export function rightsMissing(rights: readonly Right[]): RollcallError {
  const denied: string[] = [];
  const commands: string[] = [];
  for (const some of grantedTogether(rights)) {
    const [{ on, names }] = some;
    const operations = some.map(({ operation }) => operation);
    const kind = `${on.replace('-', ' ')}${names.length > 1 ? 's' : ''}`;
    denied.push(`${operations.join(', ')} on the ${kind} ${named(names)}`);
    const options = operations.map((each) => `--operation ${each}`).join(' ');
    commands.push(`kafka-acls.sh … --add ${patternOf(on, names)} ${options} --allow-principal User:<user>`);
  }
  return new RollcallError('KAFKA_REFUSED', `Kafka denies this user ${denied.join('; ')}`, {
    remedy: `Grant what is missing (or remove the rule that denies it): ${commands.join('; ')}`,
  });
}

/** The options of kafka-acls for a single name, or for what the names have in common: all have the prefix of the topics. */
function patternOf(on: Right['on'], names: readonly string[]): string {
  const [first = ''] = names;
  if (names.length === 1) return `--${on} ${first}`;
  let common = first;
  const isCommon = (): boolean => common.endsWith('.') && names.every((name) => name.startsWith(common));
  while (common !== '' && !isCommon()) common = common.slice(0, -1);
  return `--resource-pattern-type prefixed --${on} ${common}`;
}

/** The names of what a mirror uses in Kafka, by kind. */
export type UsedResources = Readonly<Record<Right['on'], readonly string[]>>;

/** The operations that a mirror needs on each kind of resource. In Kafka, Read and Write include Describe. */
export const NEEDED_OPERATIONS: Readonly<Record<Right['on'], readonly Right['operation'][]>> = {
  topic: ['Create', 'Describe', 'DescribeConfigs', 'Read', 'Write'],
  group: ['Read'],
  'transactional-id': ['Write'],
};

/** No topic has a partition of this number. */
const NO_PARTITION = 2 ** 31 - 1;
/** No producer has this id, and no group is in this generation. */
const NONE = -1;
const WITHIN_MS = 5_000;
const OK = 0;

/** Throws `KAFKA_REFUSED` with each right that Kafka denies this user, see {@link missingRights}. */
export async function requireRights(kafka: Asked, used: UsedResources): Promise<void> {
  const missing = await missingRights(kafka, used);
  if (missing.length > 0) throw rightsMissing(missing);
}

/**
 * Returns the rights that a mirror needs and that Kafka denies this user. The right to create topics counts only for
 * topics that do not exist.
 *
 * Nothing is written, created, joined or fenced, because the requests are about a partition, a producer and a member that
 * do not exist. Kafka looks at the rights first. If they suffice, it only answers, or refuses for another reason.
 * Throws `KAFKA_…`.
 */
export async function missingRights(kafka: Asked, used: UsedResources): Promise<readonly Right[]> {
  try {
    const answers = await askAll(kafka, used);
    return answers.flatMap(({ operation, on, codes }) => {
      const names = codes.filter(isDenied).map(([name]) => name);
      return names.length === 0 ? [] : [{ operation, on, names: names.toSorted() }];
    });
  } catch (error) {
    throw kafkaError(error, 'asking which rights this user has');
  }
}

/** Error codes of Kafka's protocol by the names that were asked for. */
type Codes = readonly (readonly [name: string, errorCode: number])[];

type Asked = Pick<KafkaConnections, 'askAny'>;

type Answered = Omit<Right, 'names'> & { readonly codes: Codes };

async function askAll(kafka: Asked, used: UsedResources): Promise<readonly Answered[]> {
  const { topic: topics, group: groups, 'transactional-id': transactionalIds } = used;
  const ask = async (request: string, options: object, name = ''): Promise<Codes> =>
    codesIn(await kafka.askAny<Coded>(wholeRequest(request, options)), name);
  const askEach = async (
    names: readonly string[],
    request: string,
    options: (name: string) => object,
  ): Promise<Codes> => {
    const codes: Codes[] = [];
    for (const name of names) codes.push(await ask(request, options(name), name));
    return codes.flat();
  };
  const described = await ask('Metadata', { topics, allowAutoTopicCreation: false });
  const absent = described.filter(([, errorCode]) => errorCode !== OK).map(([topic]) => topic);
  // Without KRaft, only the controller answers this request. If another broker gets it, a missing right shows only when
  // Rollcall really creates a topic.
  const creation = {
    topics: absent.map((topic) => ({ topic, numPartitions: 1, replicationFactor: 1 })),
    validateOnly: true,
    timeout: WITHIN_MS,
  };
  const created = absent.length === 0 ? [] : await ask('CreateTopics', creation);
  const configs = await ask('DescribeConfigs', {
    resources: topics.map((name) => ({ type: TOPIC, name, configNames: ['cleanup.policy'] })),
  });
  const read = await ask('Fetch', {
    maxWaitTime: 0,
    minBytes: 0,
    maxBytes: 1,
    topics: partitionsOf(topics, { fetchOffset: 0, maxBytes: 1 }),
  });
  const written = await ask('Produce', {
    acks: 1,
    timeout: WITHIN_MS,
    topicData: partitionsOf(topics, { messages: [] }),
  });
  const ended = await askEach(transactionalIds, 'EndTxn', (transactionalId) => ({
    transactionalId,
    producerId: NONE,
    producerEpoch: NONE,
    transactionResult: false,
  }));
  const joined = await askEach(groups, 'Heartbeat', (name) => ({
    groupId: name,
    groupGenerationId: NONE,
    memberId: 'nobody',
  }));
  return [
    { operation: 'Create', on: 'topic', codes: created },
    { operation: 'Describe', on: 'topic', codes: described },
    { operation: 'DescribeConfigs', on: 'topic', codes: configs },
    { operation: 'Read', on: 'topic', codes: read },
    { operation: 'Write', on: 'topic', codes: written },
    { operation: 'Write', on: 'transactional-id', codes: ended },
    { operation: 'Read', on: 'group', codes: joined },
  ];
}

function partitionsOf(topics: readonly string[], options: object): readonly object[] {
  return topics.map((topic) => ({ topic, partitions: [{ partition: NO_PARTITION, ...options }] }));
}

/** An error code and the resource that it is about. In each answer, kafkajs has different names for these fields. */
interface Coded {
  readonly topic?: string;
  readonly topicName?: string;
  readonly resourceName?: string;
  readonly errorCode?: number;
  readonly topicErrorCode?: number;
  readonly partitions?: readonly Coded[];
}

/** The topics are in the last list of an answer. An answer without a list is about the given name. */
function codesIn(answer: Coded, name: string): Codes {
  const lists = Object.values(answer).filter((value) => Array.isArray(value)) as Coded[][];
  return (lists.at(-1) ?? [answer]).map(
    ({ topic, topicName, resourceName, errorCode, topicErrorCode, partitions }) => [
      topic ?? topicName ?? resourceName ?? name,
      errorCode ?? topicErrorCode ?? partitions?.[0]?.errorCode ?? OK,
    ],
  );
}

function isDenied([, errorCode]: Codes[number]): boolean {
  return typeOf(errorCode)?.endsWith('_AUTHORIZATION_FAILED') === true;
}
