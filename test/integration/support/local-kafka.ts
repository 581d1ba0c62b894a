import { findJava } from '../../../stack/java-tools.ts';
import { startLocalKafka, type LocalKafka, type LocalKafkaOptions } from '../../../stack/local-kafka.ts';
import { fetchParts } from '../../../stack/local-parts.ts';

/**
 * Starts a Kafka for one test. It runs as local processes even where the shared stack runs in Docker.
 *
 * @throws StackError when there is no Java or Maven, or a broker does not come up
 */
export async function startTestKafka(
  options: Omit<LocalKafkaOptions, 'java' | 'part' | 'signal'>,
): Promise<LocalKafka> {
  const java = await findJava();
  const { kafka } = await fetchParts(['kafka'], { print: () => undefined });
  return startLocalKafka({ ...options, java, part: kafka, signal: new AbortController().signal });
}
