import type { Kafka } from 'kafkajs';
import { STATE_TOPIC } from '../model/collections.ts';
import { kafkaError } from '../log/kafka-errors.ts';
import type { Registry } from '../log/registry.ts';
import type { readSchemaFiles } from '../log/schema-files.ts';
import type { TenantSchemas } from '../log/tenant-schemas.ts';
import { createMissingTopics, inspectTopics, topicMismatch, type WantedTopic } from '../log/manage-topics.ts';

/** Subjects of one tenant to register at the same time. */
const SUBJECTS_AT_ONCE = 2;

/** Registers the schemas of all topics without an id that the registry holds. Rejects with the first failure. */
export async function registerSchemas(options: {
  registry: Registry;
  schemas: ReturnType<typeof readSchemaFiles>;
  topics: readonly WantedTopic[];
  /** Receives the ids. */
  ids: TenantSchemas;
}): Promise<void> {
  const { registry, schemas, topics, ids } = options;
  const missing = topics.filter(({ suffix }) => suffix !== STATE_TOPIC && !ids.has(suffix)).values();
  let hasFailed = false;
  const work = async (): Promise<void> => {
    for (const { name, suffix } of missing) {
      if (hasFailed) return;
      const file = schemas.get(suffix);
      if (file === undefined) throw new Error(`there is no schema of ${suffix}`);
      try {
        ids.set(suffix, await registry.register(`${name}-value`, file.schema));
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: SUBJECTS_AT_ONCE }, work));
}

/** Creates missing topics. Refuses a topic that differs from the contract, and never alters one. */
export async function prepareTopics(kafka: Kafka, topics: readonly WantedTopic[]): Promise<void> {
  const admin = kafka.admin();
  try {
    await admin.connect().catch((error: unknown) => {
      throw kafkaError(error, 'connecting');
    });
    const findings = await inspectTopics(admin, topics);
    const mismatch = topicMismatch(findings);
    if (mismatch !== null) throw mismatch;
    await createMissingTopics(admin, findings);
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}
