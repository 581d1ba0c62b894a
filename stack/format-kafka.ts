import { randomBytes } from 'node:crypto';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StackError } from './errors.ts';
import { propertiesText } from './kafka-settings.ts';
import { runCommand } from './run-command.ts';

/** The preparation of the brokers of a cluster for their first start. */
export interface FormatKafkaOptions {
  /** The `java` program. */
  readonly javaPath: string;
  /** Flags of the JVM, including the class path. */
  readonly javaFlags: readonly string[];
  readonly brokers: readonly {
    readonly id: number;
    /** Path of its `server.properties`. */
    readonly properties: string;
    readonly dataFolder: string;
  }[];
  /** SCRAM credentials that the cluster begins with (KIP-900). */
  readonly credentials?: readonly string[] | undefined;
  readonly signal: AbortSignal;
}

/**
 * Formats the log folders of brokers, as KRaft requires before the first start (KIP-785). Kafka's tool formats the
 * first. The others get copies of its files, which are the same for each broker except for the ids. To start the tool
 * for each of them would take half a second every time.
 * @throws StackError with the output of the tool when it does not exit with 0
 */
export async function formatKafka({
  javaPath,
  javaFlags,
  brokers: [first, ...others],
  credentials = [],
  signal,
}: FormatKafkaOptions): Promise<void> {
  if (first === undefined) return;
  const clusterId = newId();
  const tool = [
    'kafka.tools.StorageTool',
    'format',
    // with "=", because one id in 64 begins with a hyphen and would look like a flag
    `--cluster-id=${clusterId}`,
    '-c',
    first.properties,
    ...credentials.flatMap((each) => ['--add-scram', each]),
  ];
  const { code, output } = await runCommand(javaPath, [...javaFlags, ...tool], { signal });
  if (code !== 0)
    throw new StackError(`Kafka's log folder could not be formatted (exit ${code}):\n${output.trim()}`);
  for (const { id, dataFolder } of others) {
    await cp(first.dataFolder, dataFolder, { recursive: true });
    const own = { version: 1, 'cluster.id': clusterId, 'node.id': id, 'directory.id': newId() };
    await writeFile(join(dataFolder, 'meta.properties'), propertiesText(own));
  }
}

/** As Kafka writes its ids. */
function newId(): string {
  return randomBytes(16).toString('base64url');
}
