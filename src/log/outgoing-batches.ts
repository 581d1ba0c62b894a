import { Partitioners, type Message, type PartitionMetadata } from 'kafkajs';

/**
 * Bound of one record batch, bytes before compression. A broker's `message.max.bytes` (1,048,588 by default)
 * applies to a batch, and kafkajs sends one batch per partition.
 */
export const MAX_BATCH_BYTES = 900_000;
/** Upper bound for offsets, lengths and attributes of a record. */
const RECORD_OVERHEAD_BYTES = 64;

export interface AddressedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly message: Message;
  readonly bytes: number;
}

export interface TopicMessages {
  readonly topic: string;
  readonly messages: Message[];
}

/** Assigns partitions by murmur2 of the key, as the contract requires and Java's client does by default. */
export function createKeyPartitioner(): (key: string, partitions: number) => number {
  const partitioner = Partitioners.DefaultPartitioner();
  const metadataBySize = new Map<number, PartitionMetadata[]>();
  return (key, partitions) => {
    let partitionMetadata = metadataBySize.get(partitions);
    if (partitionMetadata === undefined) {
      partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
        partitionErrorCode: 0,
        partitionId,
        leader: 0,
        replicas: [],
        isr: [],
      }));
      metadataBySize.set(partitions, partitionMetadata);
    }
    return partitioner({ topic: '', partitionMetadata, message: { key, value: null } });
  };
}

/** Returns an upper bound for the size of a record on the wire. */
export function recordBytes(message: Message): number {
  let bytes = RECORD_OVERHEAD_BYTES + byteLength(message.key) + byteLength(message.value);
  for (const [name, value] of Object.entries(message.headers ?? {})) {
    bytes += name.length + 8 + (typeof value === 'string' || Buffer.isBuffer(value) ? byteLength(value) : 0);
  }
  return bytes;
}

function byteLength(part: Buffer | string | null | undefined): number {
  if (part === null || part === undefined) return 0;
  return typeof part === 'string' ? Buffer.byteLength(part) : part.length;
}

/**
 * Splits records into sends. Each send has every topic once (kafkajs copies the array of a topic that comes twice) and
 * no partition's batch above {@link MAX_BATCH_BYTES}. The order within each partition stays.
 */
export function splitIntoSends(records: readonly AddressedRecord[]): TopicMessages[][] {
  const sends: TopicMessages[][] = [];
  let byTopic = new Map<string, Message[]>();
  let bytesByPartition = new Map<string, number>();
  for (const record of records) {
    const partition = `${record.topic}/${record.partition}`;
    const bytes = (bytesByPartition.get(partition) ?? 0) + record.bytes;
    if (bytes > MAX_BATCH_BYTES && bytesByPartition.has(partition)) {
      sends.push(toSend(byTopic));
      byTopic = new Map();
      bytesByPartition = new Map();
    }
    bytesByPartition.set(partition, (bytesByPartition.get(partition) ?? 0) + record.bytes);
    const messages = byTopic.get(record.topic);
    if (messages === undefined) byTopic.set(record.topic, [record.message]);
    else messages.push(record.message);
  }
  if (byTopic.size > 0) sends.push(toSend(byTopic));
  return sends;
}

function toSend(byTopic: ReadonlyMap<string, Message[]>): TopicMessages[] {
  return [...byTopic].map(([topic, messages]) => ({ topic, messages }));
}
