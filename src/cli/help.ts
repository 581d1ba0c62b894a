import { readdirSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { didYouMean } from '../core/did-you-mean.ts';
import { wrapped } from '../core/words.ts';
import { RollcallError } from '../errors.ts';

const DOCS = new URL('../../docs/', import.meta.url);

/**
 * `rollcall help`: explains a verb, or prints a part of the documentation. `program` has the verb that is asked for, if it is one;
 * `withAllVerbs` makes one that has all.
 */
export function helpCommand(program: Command, withAllVerbs: () => Promise<Command>): Command {
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
      // Somebody may ask about an option of a verb.
      .allowUnknownOption()
      .action(async (words: readonly string[]) => {
        const asked = words.filter((word) => !word.startsWith('-')).map((word) => word.toLowerCase());
        const [topic, [first, second]] = [asked.join(' '), asked];
        const print = (text: string): void => program.configureOutput().writeOut?.(text);
        const verb = first === undefined ? program : program.commands.find((each) => each.name() === first);
        const subcommand = verb?.commands.find((each) => each.name() === second);
        // Only the name of a subcommand needs the code of all verbs.
        const hasAll = verb === undefined && /^[a-z]+$/.test(topic);
        const verbs = hasAll ? (await withAllVerbs()).commands : [];
        const subcommands = verbs.flatMap((each) => each.commands.filter((some) => some.name() === topic));
        const commands = verb === undefined ? subcommands : [subcommand ?? verb];
        for (const each of commands) each.outputHelp();
        const names = program.commands.map((each) => each.name());
        const page = commands.length > 0 ? furtherOn(topic, exactlyOn(topic)) : pageOn(topic, names);
        print(forTerminal(page, process.stdout.columns ?? 100));
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

/** A place in the documentation, and what `rollcall help` prints for its address. */
interface Place {
  readonly address: string;
  readonly text: string;
}

/** What the documentation says of a topic, with commands in place of links to documents, and where it says more. */
export function pageOn(topic: string, verbs: readonly string[] = []): string {
  const [first, ...others] = placesOf(topic, verbs);
  return `${asCommands(first.text).trim()}\n${furtherOn(topic.toLowerCase(), others)}`;
}

const MOST_NAMED = 5;

/** Prints why a part of this name is not ready, because documents send people here for it, and names the other places. */
function furtherOn(topic: string, places: readonly Place[]): string {
  const part = places.find(({ address }) => address === partAddress(topic));
  const others = places.filter((each) => each !== part).slice(0, MOST_NAMED);
  const why = part === undefined ? '' : `\nIf ${topic} is not ready:\n\n${asCommands(part.text).trim()}\n`;
  const commands = others.map(({ address }) => `rollcall help ${address}`).join(', ');
  return others.length === 0 ? why : `${why}\nSee also: ${commands}\n`;
}

function partAddress(name: string): string {
  return `operations#${name}`;
}

/** What a link of the status page shows: why a part is not ready, or {@link placesOf} the topic. Throws `USAGE_INVALID`. */
export function markdownOn(topic: string): string {
  return partOf(topic.toLowerCase()) ?? placesOf(topic)[0].text;
}

/** All places on a topic, or else those whose heading ends with it. `verbs`: what else could be meant. Throws `USAGE_INVALID`. */
function placesOf(topic: string, verbs: readonly string[] = []): readonly [Place, ...Place[]] {
  const exact = exactlyOn(topic.toLowerCase());
  const [first, ...others] = exact.length > 0 ? exact : sectionsIn(pages(), topic, '.*\\W');
  if (first !== undefined) return [first, ...others];
  const words = (read('glossary') ?? '').matchAll(/\*\*([^*]+)\*\*/g);
  const known = [...verbs, ...pages(), ...Array.from(words, ([, word = '']) => word)];
  const having = pages().filter((page) => read(page)?.toLowerCase().includes(topic.toLowerCase()));
  throw new RollcallError('USAGE_INVALID', `There is no help on ${topic}${didYouMean(topic, known)}`, {
    remedy: `${having.length > 0 ? `These pages have the word: ${having.join(', ')} ("rollcall help <page>"). ` : ''}"rollcall --help" lists the verbs, "rollcall help glossary" the words, and "rollcall help runbooks" the alerts and error codes.`,
  });
}

/**
 * In this order: the word in the glossary, the section of the runbooks, why the part is not ready, the page, and the sections with
 * this heading. `topic` is in small letters.
 */
function exactlyOn(topic: string): readonly Place[] {
  const [page = '', anchor] = topic.split('#');
  if (anchor !== undefined) {
    const text = page === 'glossary' ? wordOf(anchor) : page === 'operations' ? partOf(anchor) : undefined;
    return text === undefined ? sectionsIn([page], anchor) : [{ address: topic, text }];
  }
  const whole = topic.replace(/\.md$/, '');
  const found = [
    [`glossary#${topic}`, wordOf(topic)],
    [`runbooks#${topic}`, sectionOf('runbooks', topic)],
    [partAddress(topic), partOf(topic)],
    // The only kind of decision that is not an error.
    [`${whole}.md`, read(topic === 'rows_on_hold' ? 'decide' : whole)],
  ] as const;
  const places = found.flatMap(([address, text]) => (text === undefined ? [] : [{ address, text }]));
  const known = new Set<string>(places.map(({ address }) => address));
  return [...places, ...sectionsIn(pages(), topic).filter(({ address }) => !known.has(address))];
}

function read(page: string): string | undefined {
  return pages().includes(page) ? readFileSync(new URL(`${page}.md`, DOCS), 'utf8') : undefined;
}

/** Returns the section of a page whose heading has this anchor in links. `before`: a pattern of what else it may begin with. */
function sectionOf(page: string, anchor: string, before = ''): string | undefined {
  const sections = read(page)?.split(/^(?=##+ )/m);
  const title = new RegExp(`^##+ ${before}${anchor.replaceAll(/\W/g, '\\W+')}\\W*\n`, 'i');
  return sections?.find((section) => title.test(section));
}

/**
 * The sections of these pages whose heading has this anchor. The heading of each names its page, since a heading alone
 * says little.
 */
function sectionsIn(some: readonly string[], anchor: string, before?: string): readonly Place[] {
  return some.flatMap((page) => {
    const section = sectionOf(page, anchor, before);
    if (section === undefined) return [];
    const title = section.slice(0, section.indexOf('\n')).toLowerCase();
    const address = `${page}#${title
      .replaceAll(/[^\w -]/g, '')
      .trim()
      .replaceAll(' ', '-')}`;
    return [{ address, text: section.replace('\n', ` (rollcall help ${page})\n`) }];
  });
}

function wordOf(name: string): string | undefined {
  return itemsIn(read('glossary'), `**${name}**`);
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
