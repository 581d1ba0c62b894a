import { Kafka, logLevel, type TopicOffsets } from 'kafkajs';

/** What is used of kafkajs' cluster. Its administrator asks for each topic alone, and for no end of an open transaction. */
interface Cluster {
  isolationLevel: number;
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  metadata(): Promise<{ readonly topicMetadata: readonly { readonly topic: string }[] }>;
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  findTopicPartitionMetadata(topic: string): readonly { readonly partitionId: number }[];
  fetchTopicsOffset(topics: readonly object[]): Promise<readonly TopicOffsets[]>;
}

const READ_UNCOMMITTED = 0;
const READ_COMMITTED = 1;

/** Next offset by `<topic>/<partition>`; transaction markers count. */
export type EndOffsets = Readonly<Record<string, number>>;

/** Where topics end now for a read_committed reader, and with open transactions. Topics that do not exist are left out. */
export async function readEnds(
  brokers: string[],
  topics: Iterable<string>,
): Promise<{ readonly committed: EndOffsets; readonly written: EndOffsets }> {
  const cluster = clusterOf(new Kafka({ brokers, logLevel: logLevel.NOTHING }));
  await cluster.connect();
  try {
    const existing = new Set((await cluster.metadata()).topicMetadata.map(({ topic }) => topic));
    const wanted = [...topics].filter((topic) => existing.has(topic));
    await cluster.addMultipleTargetTopics(wanted);
    const partitionsOf = (topic: string) =>
      cluster.findTopicPartitionMetadata(topic).map(({ partitionId: partition }) => ({ partition }));
    const asked = wanted.map((topic) => ({ topic, partitions: partitionsOf(topic), fromBeginning: false }));
    const endsBy = async (isolationLevel: number): Promise<EndOffsets> => {
      cluster.isolationLevel = isolationLevel;
      const ends = (await cluster.fetchTopicsOffset(asked)).flatMap(({ topic, partitions }) =>
        partitions.map(({ partition, offset }) => [`${topic}/${partition}`, Number(offset)] as const),
      );
      return Object.fromEntries(ends);
    };
    return { committed: await endsBy(READ_COMMITTED), written: await endsBy(READ_UNCOMMITTED) };
  } finally {
    await cluster.disconnect();
  }
}

function clusterOf(kafka: Kafka): Cluster {
  const make = Object.getOwnPropertySymbols(kafka).find(({ description = '' }) =>
    description.includes('createCluster'),
  );
  if (make === undefined) throw new Error('this is another version of kafkajs');
  return (Reflect.get(kafka, make) as (options: object) => Cluster)({ allowAutoTopicCreation: false });
}
