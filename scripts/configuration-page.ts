import type { JsonSchema } from '../src/config.ts';

const HEAD = `# Configuration

\`rollcall.yaml\` (\`--config\`, or \`ROLLCALL_CONFIG\`), key by key. \`npm run schemas\` makes this page from the schema that checks the file
([config.ts](../src/config.ts)); [config.schema.json](../config.schema.json) is the same for editors, and [examples/rollcall.yaml](../examples/rollcall.yaml)
a file to begin with (\`rollcall init\`).

- \`\${NAME}\` is filled in from the environment, \`\${file:/path}\` from a file, in any value; \`$\${\` stands for \`\${\`.
- A duration is digits and a unit: \`500ms\`, \`60s\`, \`5m\`, \`24h\`, \`30d\`.
- An unknown key, a missing variable or a bad value ends the program with code 2, and with every problem, its line and its path.
- A running process follows the file: see [below](#changes-while-it-runs).
`;

const FOOT = `## Changes while it runs

A running \`rollcall run\` compares the file, and the files that it names, with what it has read: every five seconds, and at once at SIGHUP
(not on a terminal, where that signal ends the process). A change is taken up when two looks in a row, five seconds apart, have found the same; replace the file in one step all the same, as Kubernetes does. \`rollcall check\` tries a configuration out first.

| change | effect |
|---|---|
| a tenant is added | it is mirrored |
| a tenant is removed | it ends its last transaction, and leaves status, page and metrics; its topics, schemas and index stay until [\`rollcall topics purge\`](operations.md#what-the-configuration-no-longer-wants) |
| any setting of a tenant | this tenant ends and begins again under the new settings, as at a restart; no other one does |
| \`deletions\` | every tenant does |
| a secret, in its file or here | the next connection, token or request uses it; no tenant begins again |
| \`kafka\`, \`registry\`, \`redis\`, \`http\`, another \`pseudonymise.key\` | they need a restart: the process goes on with what it started with, says so by the path of the setting, and still changes the tenants |
| an environment variable | a restart: a process has those of its start |
| a file that is not valid | nothing changes, and rotated secrets wait too. The log has its problems once; \`rollcall status\`, the status page and \`rollcall_configuration_valid\` show them until they are mended |

Of [several processes](operations.md#several-processes) each follows its own file.
`;

interface Section {
  readonly path: string;
  readonly schema: JsonSchema;
}

/** Renders the JSON Schema of the configuration as a page: one table for each map of keys. */
export function configurationPage(schema: JsonSchema): string {
  const sections = sectionsIn({ path: '', schema });
  return [HEAD, ...sections.map(renderSection), FOOT].join('\n');
}

function sectionsIn(section: Section): Section[] {
  const inner = Object.entries(section.schema.properties ?? {}).flatMap(([key, property]) =>
    mapsIn(property).map(({ suffix, schema }) => ({ path: join(section.path, key) + suffix, schema })),
  );
  return [section, ...inner.flatMap(sectionsIn)];
}

/** The maps of keys that a property may hold: itself, the elements of its list, or the values of its map. */
function mapsIn(property: JsonSchema): { suffix: string; schema: JsonSchema }[] {
  return alternativesOf(property).flatMap((schema) => {
    if (schema.properties !== undefined) return [{ suffix: '', schema: { ...property, ...schema } }];
    if (schema.items?.properties !== undefined) return [{ suffix: '[]', schema: schema.items }];
    const values = schema.additionalProperties;
    if (typeof values === 'object' && values.properties !== undefined) {
      return [{ suffix: '.<collection>', schema: values }];
    }
    return [];
  });
}

function alternativesOf(schema: JsonSchema): JsonSchema[] {
  return schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap(alternativesOf);
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

function renderSection({ path, schema }: Section): string {
  const required = new Set(schema['required'] as string[] | undefined);
  const rows = Object.entries(schema.properties ?? {}).map(([key, property]) => {
    const cells = [
      `\`${key}\``,
      typeOf(property),
      defaultOf(property, required.has(key)),
      property.description ?? '',
    ];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  const head =
    path === ''
      ? []
      : [`## \`${path}\``, '', ...(schema.description === undefined ? [] : [schema.description, ''])];
  return [...head, '| key | value | default | |', '|---|---|---|---|', ...rows, ''].join('\n');
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
    if (schema.type === 'array') return [`list of ${plural(schema.items ?? {})}`];
    if (schema.type === 'object') return ['map by collection'];
    if (typeof schema['pattern'] === 'string' && schema['pattern'].endsWith(DURATION)) return ['duration'];
    if (schema.type === 'integer' || schema.type === 'number') return [`number${boundsOf(schema)}`];
    if (schema.type === 'boolean') return ['`true`', '`false`'];
    return ['text'];
  });
  return [...new Set(texts)].join(', ');
}

function plural(items: JsonSchema): string {
  if (items.properties !== undefined) return 'maps';
  return Array.isArray(items['enum']) ? 'collections' : 'texts';
}

function boundsOf({ minimum, maximum }: JsonSchema): string {
  return typeof minimum === 'number' && typeof maximum === 'number' && maximum < Number.MAX_SAFE_INTEGER
    ? ` (${minimum} to ${maximum})`
    : '';
}
