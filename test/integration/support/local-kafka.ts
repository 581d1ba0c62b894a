import { groundInUse, partOf } from '../../../stack/grounds.ts';
import { findJava } from '../../../stack/java-tools.ts';
import { startLocalKafka, type LocalKafka, type LocalKafkaOptions } from '../../../stack/local-kafka.ts';
import { fetchParts } from '../../../stack/local-parts.ts';

/**
 * Starts a Kafka for one test, of the version and with the settings of the ground in use. It runs as local processes even where
 * the shared stack runs in Docker.
 *
 * @throws StackError when there is no Java or Maven, or a broker does not come up
 */
export async function startTestKafka(
  options: Omit<LocalKafkaOptions, 'java' | 'part' | 'signal'>,
): Promise<LocalKafka> {
  const java = await findJava();
  const part = partOf('kafka');
  const folders = await fetchParts([part], { print: () => undefined });
  const settings = { ...groundInUse()?.kafkaSettings, ...options.settings };
  const { signal } = new AbortController();
  return startLocalKafka({ ...options, settings, java, part: folders[part], signal });
}
