import { Kafka, logLevel, type Admin } from 'kafkajs';

const READ_UNCOMMITTED = 0;

/**
 * An administrator whose offsets of topics include open transactions: kafkajs asks with read_committed, whose end lags behind while
 * a commit's markers are being written, unless the cluster that it makes says otherwise.
 */
export function uncommittedAdmin(kafka: Kafka): Admin {
  const makers = kafka as unknown as Record<symbol, (options: object) => unknown>;
  const name = Object.getOwnPropertySymbols(kafka).find((each) =>
    each.description?.includes('createCluster'),
  );
  const createCluster = name === undefined ? undefined : makers[name];
  if (name === undefined || createCluster === undefined)
    throw new Error('this is another version of kafkajs');
  makers[name] = (options) => createCluster({ ...options, isolationLevel: READ_UNCOMMITTED });
  return kafka.admin();
}

/** Next offset by `<topic>/<partition>`, as the administrator sees it. */
export async function endsOf(admin: Admin, topics: Iterable<string>): Promise<Record<string, number>> {
  const ends: Record<string, number> = {};
  for (const topic of topics) {
    for (const { partition, high } of await admin.fetchTopicOffsets(topic))
      ends[`${topic}/${partition}`] = Number(high);
  }
  return ends;
}

/** Next offset by `<topic>/<partition>` of these partitions' topics, open transactions included. */
export async function highWatermarks(
  brokers: readonly string[],
  partitions: readonly string[],
): Promise<Record<string, number>> {
  const admin = uncommittedAdmin(new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }));
  await admin.connect();
  try {
    return await endsOf(admin, new Set(partitions.map((name) => name.slice(0, name.lastIndexOf('/')))));
  } finally {
    await admin.disconnect();
  }
}
