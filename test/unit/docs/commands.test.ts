import { Command } from 'commander';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { command as hub } from '../../../reference-hub/verb.ts';
import { helpCommand, pageOn } from '../../../src/cli/help.ts';
import { VERBS } from '../../../src/cli/verbs.ts';

const cwd = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string): string => readFileSync(`${cwd}${path}`, 'utf8');
const GLOBAL_OPTIONS = ['--config', '--help', '--json', '--no-color', '--version'];

const loaded = await Promise.all(Object.values(VERBS).map(async ([, load]) => (await load()).command()));
const verbs = [...loaded, hub(), helpCommand(new Command())];
const named = (commands: readonly Command[], name = ''): Command | undefined =>
  commands.find((each) => each.name() === name);

/** The command lines in a text, without the program: those with its name and, in Markdown, code that begins with a verb. */
function commandLines(path: string): string[] {
  const text = read(path);
  const code = path.endsWith('.md') ? [...text.matchAll(/`([a-z]+) ([^`\n]+)`/g)] : [];
  const rows = path === 'README.md' ? [...text.matchAll(/^\| `([a-z]+)([^\n]+)/gm)] : [];
  const lines = [...text.matchAll(/(?<![\w.-]|helm\/)rollcall (?=--|[a-z])([^`"'\n|]+)/g)];
  return [
    ...lines.map(([, line = '']) => line),
    ...code.filter(([, verb]) => named(verbs, verb)).map(([, verb, rest]) => `${verb} ${rest}`),
    ...rows.map(([, verb, rest = '']) => [verb, ...(rest.match(/--[a-z-]+/g) ?? [])].join(' ')),
  ];
}

/** Whether the program has the verb of a command line, its subcommand, its options, and its page of help. */
function isKnown(line: string): boolean {
  const [first = '', second = '', ...rest] = line.replace(/^--config \S+ /, '').split(/[\s,;:.)]+/);
  const verb = named(verbs, first);
  if (verb === undefined) return GLOBAL_OPTIONS.includes(first);
  if (second.startsWith('$')) return true;
  if (first === 'help') return !/^[\w-]+$/.test(second) || pageOn(second) !== '';
  const command = named(verb.commands, second);
  if (command === undefined && verb.commands.length > 0 && /^[a-z]/.test(second)) return false;
  const options = new Set([...GLOBAL_OPTIONS, ...(command ?? verb).options.map(({ long }) => long)]);
  return [second, ...rest].every((word) => !/^--[a-z]/.test(word) || options.has(word));
}

it('documents and texts name only commands, options and pages that the program has', () => {
  const texts = ['*.md', 'docs/*.md', '{helm,examples,reference-hub}/**/*.{md,txt}', 'src/**/*.{ts,yaml}'];
  const lines = globSync(texts, { cwd }).flatMap((path) => commandLines(path).map((line) => [path, line]));
  expect(lines.length).toBeGreaterThan(200);
  expect(lines.filter(([, line = '']) => !isKnown(line))).toEqual([]);
});
