import { randomBytes } from 'node:crypto';
import { StackError } from './errors.ts';
import { runCommand } from './run-command.ts';

/** The preparation of a local broker for its first start. */
export interface FormatKafkaOptions {
  /** The `java` program. */
  readonly javaPath: string;
  /** Flags of the JVM, including the class path. */
  readonly javaFlags: readonly string[];
  /** Path of the broker's `server.properties`. */
  readonly properties: string;
  /** SCRAM credentials that the broker begins with (KIP-900). */
  readonly credentials?: readonly string[] | undefined;
  /** One of several; the first one to start must be a controller. Default: the only one of a cluster of its own. */
  readonly cluster?: { readonly id: string; readonly isController: boolean } | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Formats a broker's log folder, as KRaft requires before the first start (KIP-785).
 *
 * @throws StackError with the output of the tool when it does not exit with 0
 */
export async function formatKafka(options: FormatKafkaOptions): Promise<void> {
  // with "=", because one id in 64 begins with a hyphen and would look like a flag
  const { id = randomBytes(16).toString('base64url'), isController = true } = options.cluster ?? {};
  const roles = isController ? ['--standalone'] : [];
  const format = [
    'kafka.tools.StorageTool',
    'format',
    ...roles,
    `--cluster-id=${id}`,
    '-c',
    options.properties,
  ];
  const credentials = (options.credentials ?? []).flatMap((each) => ['--add-scram', each]);
  const { code, output } = await runCommand(
    options.javaPath,
    [...options.javaFlags, ...format, ...credentials],
    {
      signal: options.signal,
    },
  );
  if (code !== 0)
    throw new StackError(`Kafka's log folder could not be formatted (exit ${code}):\n${output.trim()}`);
}
