import { readdirSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { didYouMean } from '../core/did-you-mean.ts';
import { wrapped } from '../core/words.ts';
import { RollcallError } from '../errors.ts';

const DOCS = new URL('../../docs/', import.meta.url);

/** `rollcall help`: explains a verb, or prints a part of the documentation. `program` has the verb that is asked for, if it is one. */
export function helpCommand(program: Command): Command {
  return (
    new Command('help')
      .argument(
        '[topic...]',
        'one of these: a verb (also with its subcommand), an error code, an alert, a part that is not ready, a page, a heading such as "rights", <page>#<heading>, a word of the glossary',
      )
      .description(
        'Explains a verb, says what to do about an error or an alert, or prints a page of the documentation.',
      )
      .addHelpText('after', () => `\nPages: ${pages().join(', ')}`)
      // A person may ask about an option of a verb; the options are left out below.
      .allowUnknownOption()
      .action((words: readonly string[]) => {
        const asked = words.filter((word) => !word.startsWith('-')).map((word) => word.toLowerCase());
        const [topic, [first, second]] = [asked.join(' '), asked];
        const print = (text: string): void =>
          program.configureOutput().writeOut?.(forTerminal(text, process.stdout.columns ?? 100));
        const names = program.commands.map((each) => each.name());
        const named = (commands: readonly Command[], name?: string): Command | undefined =>
          commands.find((each) => each.name() === name);
        const verb = first === undefined ? program : named(program.commands, first);
        if (verb === undefined) return print(pageOn(topic, names));
        (named(verb.commands, second) ?? verb).outputHelp();
        // Documents send people here to read why a part is not ready, and a verb may have the same name.
        const part = partOf(topic);
        if (part !== undefined) print(`\nIf ${topic} is not ready:\n\n${asCommands(part)}`);
      })
  );
}

/** A page as people read it in a terminal: headings underlined, tables as lists, no source of a diagram. */
export function forTerminal(page: string, columns: number): string {
  const parts = page.replaceAll(/^```mermaid\n[^]*?^```\n+/gm, '').split(/^(```[^]*?^```)$/m);
  // Every second part is a block of code, where # begins a comment.
  const underlined = parts.map((part, at) =>
    at % 2 === 0 ? part.replaceAll(/^(#+) (.+)$/gm, underline).replaceAll('**', '') : part,
  );
  return withoutTables(underlined.join(''), columns);
}

function underline(_: string, level: string, title: string): string {
  return `${title}\n${(level === '#' ? '=' : '-').repeat(title.length)}`;
}

/** The tables of a page as lists: their rows can be far longer than a line of the terminal. */
function withoutTables(page: string, columns: number): string {
  let titles: readonly string[] = [];
  const shown = page.split('\n').flatMap((line, at, all) => {
    if (!line.startsWith('|')) return [line];
    const cells = line.slice(1, -1).split(/(?<!\\)\|/);
    const [first = '', ...others] = cells.map((cell) => cell.trim().replaceAll(/\\(?=\|)/g, ''));
    if (all[at + 1]?.startsWith('|--') === true) titles = others;
    if (line.startsWith('|--') || titles === others) return [];
    const lines = others.flatMap((cell, column) => {
      const title = titles[column] ?? '';
      return cell === '' ? [] : wrapped(title === '' ? cell : `${title}: ${cell}`, columns, '    ');
    });
    lines.unshift(first);
    return lines;
  });
  return shown.join('\n');
}

/**
 * Pages for users and operators come first, and pages for developers of Rollcall last. If two pages have the same
 * heading, the first one counts.
 */
const FIRST_PAGES = ['contract', 'consuming', 'operations', 'decide'];
const LAST_PAGES = ['architecture', 'design', 'invariants'];

function pages(): string[] {
  const all = readdirSync(DOCS).flatMap((name) =>
    name.endsWith('.md') ? [name.slice(0, -'.md'.length)] : [],
  );
  const others = all.filter((name) => !FIRST_PAGES.includes(name) && !LAST_PAGES.includes(name));
  return [...FIRST_PAGES, ...others, ...LAST_PAGES];
}

/**
 * What the documentation says about a topic, with commands in place of links to documents. If the topic is a word of
 * the glossary, this is its entry there. If the topic is the name of a part of a tenant, this is why the part may not
 * be ready. If it is both, both are returned. Otherwise it is the first of these that exists: the section of the
 * runbooks, the page, any section with this heading. `verbs`: what else could be meant. Throws `USAGE_INVALID`.
 */
export function pageOn(topic: string, verbs: readonly string[] = []): string {
  const wanted = topic.toLowerCase();
  const found = textOn(wanted);
  if (found !== undefined) return `${asCommands(found).trim()}\n`;
  const words = (read('glossary') ?? '').matchAll(/\*\*([^*]+)\*\*/g);
  const known = [...verbs, ...pages(), ...Array.from(words, ([, word = '']) => word)];
  const having = pages().filter((each) => read(each)?.toLowerCase().includes(wanted));
  throw new RollcallError('USAGE_INVALID', `There is no help on ${topic}${didYouMean(topic, known)}`, {
    remedy: `${having.length > 0 ? `These pages have the word: ${having.join(', ')} ("rollcall help <page>"). ` : ''}"rollcall --help" lists the verbs, "rollcall help glossary" the words, and "rollcall help runbooks" the alerts and error codes.`,
  });
}

function textOn(topic: string): string | undefined {
  const items = [itemsIn(read('glossary'), `**${topic}**`), partOf(topic)].flatMap((each) => each ?? []);
  if (items.length > 0) return items.join('\n');
  const [itsPage = '', anchor] = topic.split('#');
  if (anchor !== undefined) return sectionIn([itsPage], anchor);
  // All other kinds of decisions are error codes, which the runbooks explain.
  const page = topic === 'rows_on_hold' ? 'decide' : topic.replace(/\.md$/, '');
  return (
    sectionOf('runbooks', topic) ??
    read(page) ??
    sectionIn(pages(), topic) ??
    sectionIn(pages(), topic, '.*\\W')
  );
}

function read(page: string): string | undefined {
  return pages().includes(page) ? readFileSync(new URL(`${page}.md`, DOCS), 'utf8') : undefined;
}

/**
 * Returns the section of a page whose heading has this anchor in links. `before`: a pattern of what may come before
 * this text in the heading.
 */
function sectionOf(page: string, anchor: string, before = ''): string | undefined {
  const sections = read(page)?.split(/^(?=##+ )/m);
  // An anchor leaves out the apostrophes of its heading.
  const heading = anchor.replaceAll(/\w|\W/g, (each) => (/\w/.test(each) ? `${each}'?` : '\\W+'));
  const title = new RegExp(`^##+ ${before}${heading}\\W*\n`, 'i');
  return sections?.find((section) => title.test(section));
}

/** The first section of these pages whose heading has this anchor. The heading names its page, since a heading alone says little. */
function sectionIn(some: readonly string[], anchor: string, before?: string): string | undefined {
  const page = some.find((each) => sectionOf(each, anchor, before) !== undefined);
  if (page === undefined) return undefined;
  return sectionOf(page, anchor, before)?.replace('\n', ` (rollcall help ${page})\n`);
}

/** Returns the paragraph on why a part of a tenant is not ready. */
function partOf(name: string): string | undefined {
  return itemsIn(sectionOf('operations', 'what-is-not-ready'), `\`${name}\`:`);
}

/** Returns the items of a list that have this text: the glossary has some words twice. */
function itemsIn(list: string | undefined, text: string): string | undefined {
  const items = list?.split(/^(?=- |#)/m).filter((item) => item.includes(text)) ?? [];
  return items.length === 0 ? undefined : items.join('');
}

/** Replaces links to documents by the commands that print these documents. */
function asCommands(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]+)\]\(([a-z-]+)\.md(#[^)]*)?\)/g, '$1 (rollcall help $2$3)')
    .replaceAll(/\[([^\]]+)\]\(#[\w-]+\)/g, '$1');
}
