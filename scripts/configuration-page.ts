import type { JsonSchema } from '../src/config.ts';

const HEAD = `# Configuration

For those who write \`rollcall.yaml\`. The tables explain every key. The last section says what happens when you change a key
[while Rollcall runs](#changes-while-rollcall-runs).

- \`rollcall init\` writes a configuration that you fill in. \`rollcall check\` tests it, and warns of secrets in clear text.
- \`rollcall check --offline\` tests the file alone, for a pipeline without secrets. It lists the variables and files that the configuration needs.
  With \`--strict\`, warnings are failures, too.
- \`rollcall check --notify\` also sends a test message to \`notify.url\`.
- [examples/rollcall.yaml](../examples/rollcall.yaml) shows every key. Editors can use [config.schema.json](../config.schema.json).
- [Estates](estates.md) shows log-in with tokens, certificates, proxies, and the settings for some clouds.
- Rollcall reads \`./rollcall.yaml\`, unless \`--config\` or \`ROLLCALL_CONFIG\` names another file.

In any value:

- \`\${NAME}\` stands for the environment variable \`NAME\`.
- \`\${file:/path}\` stands for the content of the file at \`/path\`.
- \`$\${\` stands for the characters \`\${\`.
- A duration is a number with a unit: \`500ms\`, \`60s\`, \`5m\`, \`24h\`, \`30d\`.

An unknown key, a missing variable or a bad value ends the program with exit code 2. The error lists all mistakes, each with its line and
path. For a mistyped key, it names the key that was probably meant.

In the tables, **required** says that you must set the key. Some required keys, such as \`redis.url\`, belong to an optional map: you must set them only
if you set the map. The keys of \`kafka.sasl\` are listed for three forms of this map, of which you use one: a user name and a password, tokens, or
Amazon MSK. \`kafka.sasl.mechanism\` chooses the form.
`;

const FOOT = `## Changes while Rollcall runs

\`rollcall run\` reads the configuration, and the files that it names, every five seconds. It applies a change when it has read the same
content twice in a row. After a SIGHUP, it reads the files and applies a change at once. (If \`rollcall run\` was started on a terminal, SIGHUP ends
it.) Replace the file in one step, for example with \`mv\`. Each of [several processes](operations.md#several-processes) reads its own file.

| change | effect |
|---|---|
| a tenant is added | Rollcall begins to mirror it. Other tenants are not interrupted. |
| a setting of a tenant is changed | Rollcall ends the session of this tenant, and opens a new one with the new setting. Other tenants are not interrupted. |
| a tenant is removed | Rollcall stops mirroring it. Its topics, schemas and index stay until you run [\`rollcall topics purge\`](operations.md#topics-that-are-no-longer-configured). |
| a setting of \`deletions\` is changed | Rollcall ends the session of every tenant, and opens new ones with the new setting. |
| a secret is changed, in its file or in the configuration | Rollcall uses the new secret for the next connection, token or request. |
| \`kafka\`, \`registry\`, \`redis\`, \`http\`, \`notify\`, \`pseudonymise.key\` or an environment variable is changed | The change takes effect only after a restart. Until then \`rollcall status\` says so. |
| a change makes the configuration invalid | Nothing changes, and new secrets are not used either. \`rollcall status\` and the metric \`rollcall_configuration_valid\` say so. |
`;

interface Section {
  readonly path: string;
  readonly schema: JsonSchema;
}

/** Renders the JSON Schema of the configuration as a page: a table for each list or map of maps; other maps have dotted keys. */
export function configurationPage(schema: JsonSchema): string {
  const shown = new Set<string>();
  const tables: string[] = [];
  for (const section of sectionsFrom({ path: '', schema })) {
    const rows = rowsOf(section.schema, '', shown);
    const head = section.path === '' ? [] : [`## \`${section.path}\``, ''];
    tables.push([...head, '| key | value; default | |', '|---|---|---|', ...rows, ''].join('\n'));
  }
  return [HEAD, ...tables, FOOT].join('\n');
}

/** A section, and those of the lists and maps of maps below it. */
function sectionsFrom(section: Section): Section[] {
  return [section, ...tablesBelow(section).flatMap(sectionsFrom)];
}

function tablesBelow({ path, schema }: Section): Section[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, property]) =>
    alternativesOf(property).flatMap((alternative) => {
      const at = join(path, key);
      if (alternative.properties !== undefined) return tablesBelow({ path: at, schema: alternative });
      if (alternative.items?.properties !== undefined)
        return [{ path: `${at}[]`, schema: alternative.items }];
      const values = alternative.additionalProperties;
      return typeof values === 'object' && values.properties !== undefined
        ? [{ path: `${at}.<collection>`, schema: values }]
        : [];
    }),
  );
}

/** The rows of a map's keys; `shown`: the contents of maps that have rows already, which are not repeated. */
function rowsOf(schema: JsonSchema, prefix: string, shown: Set<string>): string[] {
  const required = new Set(schema.required);
  return Object.entries(schema.properties ?? {}).flatMap(([key, property]) => {
    const path = join(prefix, key);
    const cells = [`\`${path}\``, valueOf(property, required.has(key)), property.description ?? ''];
    const inner = alternativesOf(property).flatMap((map) => {
      const contents = JSON.stringify(map.properties);
      if (contents === undefined || shown.has(contents)) return [];
      shown.add(contents);
      return rowsOf(map, path, shown);
    });
    const isAlwaysThere = property.properties !== undefined && (required.has(key) || 'default' in property);
    const row = `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
    return isAlwaysThere ? inner : [row].concat(inner);
  });
}

function alternativesOf(schema: JsonSchema): JsonSchema[] {
  return schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap(alternativesOf);
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

function valueOf(property: JsonSchema, isRequired: boolean): string {
  const preset = defaultOf(property, isRequired);
  return preset === '' ? typeOf(property) : `${typeOf(property)}; ${preset}`;
}

function defaultOf(property: JsonSchema, isRequired: boolean): string {
  const value = property.default;
  if (isRequired) return '**required**';
  if (value === undefined || value === null || value === '' || JSON.stringify(value) === '{}') return '';
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

const DURATION = '(ms|s|m|h|d)$';

function typeOf(property: JsonSchema): string {
  const texts = alternativesOf(property).flatMap((schema) => {
    if (schema['$ref'] !== undefined) return [];
    if (typeof schema['const'] === 'string') return [`\`${schema['const']}\``];
    if (Array.isArray(schema['enum'])) return schema['enum'].map((value) => `\`${String(value)}\``);
    if (schema.properties !== undefined) return ['map'];
    if (schema.type === 'array') return ['list'];
    if (schema.type === 'object')
      return [schema.propertyNames?.enum === undefined ? 'map' : 'map by collection'];
    if (typeof schema['pattern'] === 'string' && schema['pattern'].endsWith(DURATION))
      return [`duration from ${String(schema['$comment'])}`];
    if (schema.type === 'integer' || schema.type === 'number') return [boundsOf(schema)];
    if (schema.type === 'boolean') return ['`true`', '`false`'];
    return ['text'];
  });
  return [...new Set(texts)].join(', ');
}

function boundsOf({ minimum, maximum }: JsonSchema): string {
  return typeof minimum === 'number' && typeof maximum === 'number' && maximum < Number.MAX_SAFE_INTEGER
    ? `${minimum} to ${maximum}`
    : 'number';
}
