import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { expect, it } from 'vitest';
import { command as hub } from '../../../reference-hub/verb.ts';
import { forTerminal, helpCommand, pageOn } from '../../../src/cli/help.ts';
import { VERBS } from '../../../src/cli/verbs.ts';
import { TENANT_PARTS } from '../../../src/core/health/tenant-facts.ts';
import { RollcallError } from '../../../src/errors.ts';
import { COLLECTIONS, OWN_TOPICS, STATE_TOPIC } from '../../../src/model/collections.ts';

const checkout = fileURLToPath(new URL('../../../', import.meta.url));
const documents = globSync(['*.md', '{docs,examples,helm,reference-hub}/**/*.md'], { cwd: checkout });

function read(path: string): string {
  return readFileSync(join(checkout, path), 'utf8');
}

/** Gives the links to files of the project, as paths from the checkout. */
function linkedFiles(document: string): string[] {
  const targets = [...read(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets
    .filter((target) => !/^(?:[a-z]+:|#)/.test(target))
    .map((target) => join(dirname(document), target.replace(/#.*$/, '')));
}

/** The anchors that GitHub gives the headings of a document (two of one name would need numbers). */
function anchorsIn(document: string): string[] {
  const text = read(document).replaceAll(/^ *```[^]*?^ *```$/gm, '');
  const titles = text.match(/^#+ .+$/gm)?.map((line) => line.replace(/^#+ /, '').toLowerCase());
  return (titles ?? []).map((title) => title.replaceAll(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-'));
}

it.each(documents)('%s links only to what exists', (document) => {
  expect(linkedFiles(document).filter((path) => !existsSync(join(checkout, path)))).toEqual([]);
  const links = [...read(document).matchAll(/\]\(([^)\s:#]+\.md)?#([^)\s]+)\)/g)];
  const missing = links.filter(([, path, anchor = '']) => {
    const target = path === undefined ? document : join(dirname(document), path);
    return !anchorsIn(target).includes(anchor);
  });
  expect(missing.map(([link]) => link)).toEqual([]);
});

it('docs/invariants.md cites only tests that exist', () => {
  const cited = read('docs/invariants.md')
    .split('\n')
    .filter((line) => /^- \[[\w.-]+\.ts\]/.test(line));
  const missing = cited.flatMap((line) => {
    const path = join('docs', /\]\(([^)]+)\)/.exec(line)?.[1] ?? '');
    const source = existsSync(join(checkout, path)) ? read(path) : '';
    const names = Array.from(line.matchAll(/“([^”]+)”/g), ([, name = '']) => name);
    return names.filter((name) => !source.includes(name)).map((name) => `${path}: ${name}`);
  });
  expect([cited.length > 10, missing]).toEqual([true, []]);
});

it.each(['docs/contract.md', 'docs/standard-servers.md'])('%s names every collection', (document) => {
  const text = read(document);
  expect(COLLECTIONS.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});

it('docs/privacy.md says of every topic what it holds, how long, and who needs to read it', () => {
  const rows = (read('docs/privacy.md').match(/^\| topic.*$/gm) ?? []).map((row) =>
    row.split('|').slice(1, 5),
  );
  const named = rows.flatMap(([topics = '']) =>
    Array.from(topics.matchAll(/`([\w-]+)`/g), ([, name = '']) => name),
  );
  expect(named.toSorted()).toEqual([...COLLECTIONS, ...OWN_TOPICS, STATE_TOPIC].toSorted());
  expect(rows.flat().map((cell) => cell.trim())).not.toContain('');
});

const JAVA = 'examples/java/src/main/java/rollcall/react';
it.each([
  ['ts', ['examples/consumer/consumer.ts', 'examples/absent-now/absent-now.ts']],
  ['java', [`${JAVA}/ReactOnce.java`, `${JAVA}/Reactions.java`]],
  ['python', ['consumer', 'absent_now'].map((name) => `examples/python/${name}.py`)],
])('docs/consuming.md shows lines of the examples in %s as they are, in order', (language, examples) => {
  const blocks = read('docs/consuming.md').matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'));
  const shown = Array.from(blocks, ([, block = '']) => block)
    .join('')
    .split('\n')
    .filter((line) => line !== '' && !line.endsWith(' ⋮'));
  const lines = examples.flatMap((path) => read(path).split('\n'));
  const missing = shown.filter((line) => {
    const found = lines.indexOf(line);
    if (found >= 0) lines.splice(0, found + 1);
    return found < 0;
  });
  expect([shown.length > 5, missing]).toEqual([true, []]);
});

it.each(['README.md', 'CONTRIBUTING.md'])('%s names only scripts of package.json', (document) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const named = [...read(document).matchAll(/npm run (?:-s )?([\w:]+)/g)].map(([, name = '']) => name);
  expect([named.length > 0, named.filter((name) => !(name in scripts))]).toEqual([true, []]);
});

it('the pages of "rollcall help" name only pages of help that exist', () => {
  const asked = new Set([
    ...TENANT_PARTS,
    'stop',
    'decision',
    'runbooks',
    'operations',
    'decide',
    'contract',
  ]);
  for (const topic of asked)
    for (const [, next = ''] of pageOn(topic).matchAll(/rollcall help ([\w#-]+)/g)) asked.add(next);
  expect(asked.size).toBeGreaterThan(40);
});

it('help prints the table of every key of the configuration within the width of a terminal', () => {
  const lines = forTerminal(pageOn('configuration'), 80).split('\n');
  const at = lines.indexOf('`kafka.replicationFactor`');
  expect(lines.slice(at + 1, at + 3)).toEqual([
    '    value; default: 1 to 100; `3`',
    '    Replication factor of new topics.',
  ]);
  const ofTables = lines.filter((line) => /^ {4}\S/.test(line));
  expect(ofTables.length).toBeGreaterThan(150);
  expect(Math.max(...ofTables.map(({ length }) => length))).toBeLessThanOrEqual(80);
});

it('help finds a section by its heading alone, and its first line names the section and its page', () => {
  for (const [topic, heading] of [
    ['rights', 'Rights (rollcall help operations)'],
    ['operations#rights', 'Rights (rollcall help operations)'],
    ['proxies', 'Proxies (rollcall help estates)'],
    ['decide', 'Decide: Rollcall waits for a person'],
    ['rows on hold', 'Rows on hold (rollcall help decide)'],
  ] as const)
    expect(forTerminal(pageOn(topic), 80).split('\n').slice(0, 2)).toEqual([
      heading,
      expect.stringMatching(/^(=+|-+)$/),
    ]);
});

it.each(TENANT_PARTS)('help on the part %s says why the part is not ready and what to do', (part) => {
  expect(pageOn(part)).toContain(`- \`${part}\`: `);
});

it('help explains a word of the glossary that is not the heading of a section', () => {
  expect(pageOn('guard')).toMatch(/^- \*\*guard\*\*: /);
  expect(() => pageOn('gruad')).toThrow('There is no help on gruad; did you mean guard?');
});

it('help explains a word in each of its meanings', () => {
  expect(pageOn('snapshot')).toMatch(/^- \*\*snapshot\*\*: [^]*\n- \*\*snapshot\*\* \(field of an event\): /);
});

it('help on a word that it does not explain names pages with this word, and the lists of all words', () => {
  const remedyOn = (topic: string) => {
    try {
      return pageOn(topic);
    } catch (error) {
      return error instanceof RollcallError ? error.remedy : error;
    }
  };
  expect(remedyOn('Guardians')).toMatch(
    /^These pages have the word: [a-z-, ]*\bprivacy\b[^]*"rollcall help glossary"/,
  );
  expect(remedyOn('nowhere-at-all')).toMatch(/^"rollcall --help" lists the verbs/);
});

it.each([
  ['watermark', /^- \*\*watermark\*\*: [^]*\n- `watermark`: /],
  ['kafka', /^- `kafka`: /],
  ['index', /^- \*\*index\*\*: /],
  ['Headers', /^## Headers \(rollcall help contract\)/],
  ['hub_timeout', /^### HUB_TIMEOUT\n/],
  // As a webhook names this decision.
  ['ROWS_ON_HOLD', /^# Decide/],
])('help on %s shows the likeliest of all places in the documentation', (topic, first) => {
  expect(pageOn(topic)).toMatch(first);
});

it.each(['architecture', 'consuming'])('help prints code of the page %s but no diagram', (page) => {
  expect(pageOn(page)).toContain('```mermaid');
  expect(forTerminal(pageOn(page), 80)).toMatch(/^```(?!mermaid)/m);
  expect(forTerminal(pageOn(page), 80)).not.toMatch(/mermaid|-->/);
});

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
  const lines = globSync(texts, { cwd: checkout }).flatMap((path) =>
    commandLines(path).map((line) => [path, line]),
  );
  expect(lines.length).toBeGreaterThan(200);
  expect(lines.filter(([, line = '']) => !isKnown(line))).toEqual([]);
});
