import { z } from 'zod';
import { crossCheck } from './config/cross-checks.ts';
import { errorCodeOf } from './config/error-code.ts';
import { flag, ratio, secret, text, wholeNumber } from './config/fields.ts';
import type { FillSources } from './config/fill.ts';
import { describeIssue, problemsOf } from './config/issues.ts';
import { jsonSchemaOf, knownKeys, type JsonSchema } from './config/json-schema.ts';
import { formatPath, problemsError, type KeyPath, type Problem } from './config/problem.ts';
import { kafka, redis, registry } from './config/services.ts';
import { tenant, type CollectionSettings } from './config/tenant.ts';
import { readYaml, type YamlFile } from './config/yaml-file.ts';
import { RollcallError } from './errors.ts';
import {
  COLLECTIONS,
  collectionNamed,
  type Collection,
  type CollectionName,
  type TopicSuffix,
} from './model/collections.ts';

/**
 * The configuration: one schema that holds type, default and description of every key.
 * `config.schema.json` is generated from it. Durations are text in the file and milliseconds here (`…Ms`).
 */

/** The schema of `rollcall.yaml`, before variables are filled in (input) and as the program uses it (output). */
const configSchema = z.strictObject({
  tenants: z
    .array(tenant)
    .min(1, { error: 'names no tenant' })
    .max(1000)
    .describe('One entry for each school owner.'),
  kafka,
  registry,
  redis: redis.optional(),
  http: z
    .strictObject({
      host: text(255).prefault('127.0.0.1').describe('Address to listen on; 0.0.0.0 in a container.'),
      port: wholeNumber({ min: 0, max: 65_535 })
        .prefault(8080)
        .describe('Port of /livez, /readyz and /metrics; 0: any free one.'),
    })
    .prefault({})
    .describe('Where probes and metrics are served.'),
  deletions: z
    .strictObject({
      withholdAbove: z
        .strictObject({
          rows: wholeNumber({ min: 0, max: 1e9 }).prefault(50).describe('More rows than this, and'),
          ratio: ratio().prefault(0.05).describe('more than this part of the rows known before.'),
        })
        .prefault({})
        .describe('When the deletions of a pass wait for a person.'),
      perDay: flag().prefault(true).describe("Whether a day's deletions count together."),
    })
    .prefault({})
    .describe('The guard against deleting too much.'),
  pseudonymise: z
    .strictObject({
      key: secret(16).describe(
        'Key of the hash (HMAC-SHA-256), at least 16 characters. A new key changes every value.',
      ),
    })
    .optional()
    .describe('Needed where a collection pseudonymises fields.'),
});

export type Config = z.output<typeof configSchema>;
export type TenantConfig = Config['tenants'][number];
export type KafkaConfig = Config['kafka'];
export type { CollectionSettings } from './config/tenant.ts';

/** The settings of a collection, the tenant's defaults filled in. */
export function collectionSettings(tenant: TenantConfig, name: CollectionName): CollectionSettings {
  return tenant.collections[name];
}

/** The collections that are mirrored for a tenant, in the order of the model. */
export function enabledCollections(tenant: TenantConfig): Collection[] {
  return COLLECTIONS.filter((name) => tenant.collections[name].enabled).map((name) => collectionNamed(name));
}

/** Those of them that have passes of their own: the others follow from their rows. */
export function passCollections(tenant: TenantConfig): Collection[] {
  return enabledCollections(tenant).filter(({ derivedFrom }) => derivedFrom === null);
}

/** Partitions that a topic is created with. */
export function partitionsOf(kafka: KafkaConfig, suffix: TopicSuffix): number {
  return suffix === 'progress' ? 1 : (kafka.partitions[suffix] ?? kafka.partitions.default);
}

/** The JSON Schema of the file as a person writes it: `config.schema.json`. */
export function configJsonSchema(): JsonSchema {
  return jsonSchemaOf(configSchema);
}

/**
 * Reads, fills and checks a configuration. Throws `CONFIG_INVALID` that lists every problem with its
 * line and path, and nothing else.
 */
export function loadConfig(options: {
  /** Path of the YAML file: for messages and for `readFile`. */
  path: string;
  env: FillSources['env'];
  /** Text of a file, UTF-8; throws as `node:fs` does. Also used for `${file:/path}`. */
  readFile: FillSources['readFile'];
}): Config {
  const { path, env, readFile } = options;
  const file = readYaml(readConfigFile(path, readFile), { env, readFile });
  // A file that is no YAML has no value; what the schema would say of that is noise.
  if (file.value === undefined && file.problems.length > 0) throw problemsError(path, file.problems);
  const result = configSchema.safeParse(file.value, { error: describeIssue });
  const found = [
    ...(result.success ? [] : schemaProblems(result.error, file)),
    ...crossCheck(file.value).map(({ path, message }) => ({ path, message, line: file.lineOf(path) })),
  ];
  // What could not be filled in is known to be wrong already.
  const unfilled = new Set(file.problems.map((problem) => formatPath(problem.path)));
  const problems = [...file.problems, ...found.filter((problem) => !unfilled.has(formatPath(problem.path)))];
  if (!result.success || problems.length > 0) throw problemsError(path, problems);
  return result.data;
}

function schemaProblems(error: z.ZodError, file: YamlFile): Problem[] {
  let schema: JsonSchema | undefined;
  const keysAt = (at: KeyPath) => knownKeys((schema ??= configJsonSchema()), at);
  return problemsOf(error.issues, { ...file, knownKeys: keysAt });
}

function readConfigFile(path: string, readFile: FillSources['readFile']): string {
  try {
    return readFile(path);
  } catch (error) {
    const code = errorCodeOf(error);
    const missing = code === 'ENOENT';
    throw new RollcallError(
      'CONFIG_INVALID',
      missing ? `There is no configuration at ${path}` : `The configuration ${path} cannot be read (${code})`,
      {
        remedy: missing
          ? 'Copy examples/rollcall.yaml there and fill it in, or name another file with --config or ROLLCALL_CONFIG.'
          : 'See that it is a file that this user may read.',
      },
    );
  }
}
