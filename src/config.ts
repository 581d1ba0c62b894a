import { z } from 'zod';
import { isSecret } from './config/clear-text.ts';
import { crossCheck } from './config/cross-checks.ts';
import { duration, ratio, secret, text, wholeNumber } from './config/fields.ts';
import { errorCodeOf, type FillSources } from './config/variables.ts';
import { describeIssue, isSolvedByText, problemsOf } from './config/issues.ts';
import { formatPath, mapOf, problemsError, BEGIN_REMEDY } from './config/problem.ts';
import type { KeyPath, Problem } from './config/problem.ts';
import { kafka, notify, redis, registry } from './config/services.ts';
import { tenant } from './config/tenant-settings.ts';
import type { JsonSchema } from './config/shape.ts';
import { readYaml, type YamlFile } from './config/yaml-file.ts';
import { RollcallError } from './errors.ts';
import { COLLECTIONS, collectionNamed, type Collection, type TopicSuffix } from './model/collections.ts';

/**
 * The type, default and description of every key: the schema of `rollcall.yaml` (input) and of the configuration that the
 * program uses (output). `config.schema.json` is generated from it. Durations are text in the file, and milliseconds in the
 * output (`…Ms`).
 */
const configSchema = z.strictObject({
  tenants: z
    .array(tenant)
    .min(1, { error: 'names no tenant' })
    .max(1000)
    .describe('The tenants, one for each school owner (such as a municipality).'),
  kafka,
  registry,
  redis: redis.optional(),
  http: z
    .strictObject({
      host: text(255).prefault('127.0.0.1').describe('Address to listen on. Use `0.0.0.0` in a container.'),
      port: wholeNumber({ min: 0, max: 65_535 }).prefault(8080).describe('Port. 0 takes any free port.'),
    })
    .prefault({})
    .describe('Where probes, metrics and status page are served.'),
  notify: notify.optional(),
  deletions: z
    .strictObject({
      holdAbove: z
        .strictObject({
          rows: wholeNumber({ min: 0, max: 1e9 })
            .prefault(50)
            .describe(
              'Removals are put on hold if more rows than this are missing, and if they are also a larger share than `ratio`.',
            ),
          ratio: ratio()
            .prefault(0.05)
            .describe(
              'Removals are put on hold if a larger share of the rows than this is missing, and if their number is also above `rows`.',
            ),
        })
        .prefault({})
        .describe('Above both limits, a person must decide about removals.'),
      confirmAfter: duration({ min: '1s', max: '1d' })
        .prefault('5m')
        .describe(
          'If a full sync does not find some rows, a confirming sync follows after this time. With `1d`, the next daily full sync takes its place.',
        ),
    })
    .prefault({})
    .transform(({ confirmAfter, ...rest }) => ({ ...rest, confirmAfterMs: confirmAfter }))
    .describe('The removal of rows that left the hub.'),
  pseudonymise: z
    .strictObject({
      key: secret(16).describe(
        'Key of the hash (HMAC-SHA-256), at least 16 characters. A new key changes every hashed value.',
      ),
    })
    .optional()
    .describe('Required if a collection has `pseudonymise`.'),
});

export type Config = z.output<typeof configSchema>;
export type TenantConfig = Config['tenants'][number];
export type KafkaConfig = Config['kafka'];
export type OAuthClient = NonNullable<Config['registry']['oauth']>;
export type { JsonSchema } from './config/shape.ts';
export type { CollectionSettings } from './config/tenant-settings.ts';

/** Returns the mirrored collections of a tenant, in the order of the model. */
export function enabledCollections(tenant: TenantConfig): Collection[] {
  return COLLECTIONS.filter((name) => tenant.collections[name].enabled).map((name) => collectionNamed(name));
}

/** Returns the mirrored collections with their own syncs; the others are derived from them. */
export function syncedCollections(tenant: TenantConfig): Collection[] {
  return enabledCollections(tenant).filter(({ derivedFrom }) => derivedFrom === null);
}

/** Returns the number of partitions for the creation of a topic; `progress` has one, which is read in order (contract). */
export function partitionsOf(kafka: KafkaConfig, suffix: TopicSuffix): number {
  return suffix === 'progress' ? 1 : (kafka.partitions[suffix] ?? kafka.partitions.default);
}

let jsonSchema: JsonSchema | undefined;

/** Returns the JSON Schema (draft 2020-12) of the file; `config.schema.json` allows `${…}` for its values too. */
export function configJsonSchema(): JsonSchema {
  // Through JSON, Zod's schema becomes a plain tree. This takes longer than checking a file.
  jsonSchema ??= JSON.parse(
    JSON.stringify(z.toJSONSchema(configSchema, { io: 'input', override: useAnyOf })),
  ) as JsonSchema;
  return jsonSchema;
}

/** `oneOf` would refuse a placeholder, which fits each of the alternatives. */
function useAnyOf({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.oneOf === undefined) return;
  jsonSchema.anyOf = jsonSchema.oneOf;
  delete jsonSchema.oneOf;
}

/** Where a configuration comes from. */
export interface ConfigSources extends FillSources {
  /** Path of the YAML file, for messages and for `readFile`. */
  path: string;
  /** Set by commands that send no request to the hub, or to no service at all. Then credentials for it need no value. */
  without?: 'hub' | 'services' | undefined;
}

/** Reads a configuration, fills in its variables and checks it. Throws `CONFIG_INVALID` with every problem, its line and its path. */
export function loadConfig({ path, without, ...sources }: ConfigSources): Config {
  const mayLack = (at: KeyPath): boolean =>
    (without !== undefined && isHubCredential(at)) || (without === 'services' && isCredential(at));
  const file = readYaml(readConfigFile(path, sources.readFile), { ...sources, mayLack });
  const { problems, result } = judge(file);
  if (result?.success === true && problems.length === 0) return result.data;
  throw problemsError(path, problems, file.value);
}

/** A configuration as its file has it, whatever the environment and other files hold. */
export interface WrittenConfig {
  /** With each `${…}` as it is written. */
  readonly value: object;
  /** The variables and files that the configuration needs, such as `the environment variable HUB_ID`. */
  readonly needs: readonly string[];
}

/** Checks the text of a configuration alone. Throws `CONFIG_INVALID`. */
export function checkText({ path, readFile }: Pick<ConfigSources, 'path' | 'readFile'>): WrittenConfig {
  const readNone = (): string => {
    throw new Error('no other file is read');
  };
  const file = readYaml(readConfigFile(path, readFile), { env: {}, readFile: readNone });
  const { problems } = judge(file, ({ needs }) => needs !== undefined);
  if (problems.length > 0) throw problemsError(path, problems, file.value);
  const needs = file.problems.flatMap(({ needs: one }) => (one ? `the ${one.kind} ${one.name}` : []));
  return { value: mapOf(file.value), needs: [...new Set(needs)] };
}

/** All problems of a file. `mayStay`: which problems with filling in its variables do not count. */
function judge(file: YamlFile, mayStay: (problem: Problem) => boolean = () => false) {
  const ofText = file.problems.filter((problem) => !mayStay(problem));
  // A file that is not YAML has no value, and the schema's problems would be noise.
  if (file.value === undefined && ofText.length > 0) return { problems: ofText, result: null };
  const result = configSchema.safeParse(file.value, { error: describeIssue });
  const found: Problem[] = [
    ...(result.success ? [] : problemsOf(result.error.issues, { ...file, schema: configJsonSchema() })),
    ...crossCheck(file.value).map((each) => Object.assign(each, { line: file.lineOf(each.path) })),
  ];
  // A value that could not be filled in has its problem already. The schema's problem may only follow from it.
  const unfilled = new Set(file.problems.map(({ path }) => formatPath(path)));
  const mayFollow = (problem: Problem) => unfilled.has(formatPath(problem.path)) && isSolvedByText(problem);
  return { problems: [...ofText, ...found.filter((problem) => !mayFollow(problem))], result };
}

function isHubCredential([tenants, , hub, key]: KeyPath): boolean {
  return tenants === 'tenants' && hub === 'hub' && (key === 'clientId' || key === 'clientSecret');
}

/** Whether only a connection needs the value of a key: a secret or a certificate. */
function isCredential(path: KeyPath): boolean {
  return isSecret(path) || path.at(-1) === 'ca' || path.at(-1) === 'cert';
}

function readConfigFile(path: string, readFile: FillSources['readFile']): string {
  try {
    return readFile(path);
  } catch (error) {
    const code = errorCodeOf(error);
    const missing = code === 'ENOENT';
    const what = missing
      ? `There is no configuration at ${path}`
      : `The configuration ${path} cannot be read (${code})`;
    throw new RollcallError('CONFIG_INVALID', what, {
      remedy: missing
        ? `${BEGIN_REMEDY} To use another file, name it with --config or ROLLCALL_CONFIG.`
        : 'Make sure that it is a file and that this user may read it.',
    });
  }
}
