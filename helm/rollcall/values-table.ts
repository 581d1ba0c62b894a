import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { JsonSchema } from '../../src/config.ts';

/*
 * The list of values in README.md, made of the defaults in values.yaml and the descriptions in values.schema.json.
 * `npm run schemas` writes it.
 */

const BEGIN = '<!-- values: made by npm run schemas -->\n';
const END = '<!-- end of values -->\n';
const README = new URL('README.md', import.meta.url);

type Values = Readonly<Record<string, unknown>>;

/** Returns README.md with the list as it should be. */
export function readmeWithValues(schema: JsonSchema): string {
  const values = parse(readFileSync(new URL('values.yaml', import.meta.url), 'utf8')) as Values;
  const text = readFileSync(README, 'utf8');
  const [before = '', rest = ''] = text.split(BEGIN);
  const [, after = ''] = rest.split(END);
  return `${before}${BEGIN}${listOf(schema, values)}${END}${after}`;
}

export const README_FILE = README;

/** Values one after the other with the same description share a line. */
function listOf(schema: JsonSchema, values: Values): string {
  const lines: { names: string[]; description: string }[] = [];
  for (const { path, value, description } of leavesOf(schema, values, '')) {
    const name = `\`${path}\`${shown(value)}`;
    const last = lines.at(-1);
    if (last?.description === description) last.names.push(name);
    else lines.push({ names: [name], description });
  }
  return lines.map(({ names, description }) => `- ${names.join(', ')}: ${description}\n`).join('');
}

interface Leaf {
  readonly path: string;
  readonly value: unknown;
  readonly description: string;
}

function leavesOf(schema: JsonSchema, values: Values, prefix: string): Leaf[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const path = `${prefix}${key}`;
    if (path === 'config') {
      return [{ path, value: '', description: '`rollcall.yaml`, key for key: [configuration](../../docs/configuration.md).' }];
    }
    const property = schema.properties?.[key];
    const isGroup = property?.properties !== undefined && property.description === undefined;
    if (isGroup) return leavesOf(property, value as Values, `${path}.`);
    const hasOwnRows = Object.values(property?.properties ?? {}).some(({ description }) => description !== undefined);
    if (hasOwnRows) return leavesOf(property ?? {}, value as Values, `${path}.`);
    if (property?.description === undefined) throw new Error(`values.schema.json does not describe ${path}`);
    return [{ path, value, description: property.description }];
  });
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return ['', '[]', '{}'].includes(text) ? '' : ` \`${text}\``;
}
