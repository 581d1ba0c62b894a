import { readdirSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { commandsHere } from '../commands-here.ts';
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
        'a verb, with or without its subcommand, an error code, an alert, a part that is not ready, a page, a heading such as "rights", <page>#<heading>, or a word of the glossary',
      )
      .description(
        'Explains a verb, says what to do about an error or an alert, or prints a page of the documentation.',
      )
      .addHelpText('after', () => `\nPages: ${pages().join(', ')}`)
      // Somebody may ask about an option of a verb.
      .allowUnknownOption()
      .action(async (words: readonly string[]) => {
        const asked = words.filter((word) => !word.startsWith('-'));
        const [topic, [first, second]] = [asked.join(' '), asked];
        const verb = first === undefined ? program : program.commands.find((each) => each.name() === first);
        // A checkout also has the verb `hub`, which explains itself.
        if (verb !== undefined && partOf(topic) === undefined) {
          const subcommand = verb.commands.find((each) => each.name() === second);
          return (subcommand ?? verb).outputHelp();
        }
        const verbs = exactlyOn(topic) === undefined ? (await withAllVerbs()).commands : [];
        const subcommands = verbs.flatMap((each) => each.commands.filter((some) => some.name() === topic));
        for (const each of subcommands) each.outputHelp();
        if (subcommands.length > 0) return;
        process.stdout.write(forTerminal(helpOn(topic), process.stdout.columns ?? 100));
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

function pages(): string[] {
  return readdirSync(DOCS).flatMap((name) => (name.endsWith('.md') ? [name.slice(0, -'.md'.length)] : []));
}

/** {@link pageOn}, with commands as they are typed on this machine. */
export function helpOn(topic: string): string {
  return commandsHere(pageOn(topic));
}

/** {@link markdownOn}, with commands in place of links to documents. */
export function pageOn(topic: string): string {
  return `${asCommands(markdownOn(topic)).trim()}\n`;
}

/**
 * The section of the runbooks on an error or an alert, why a part is not ready, a page or its section, a section whose heading
 * ends so, or an entry of the glossary. Throws `USAGE_INVALID`.
 */
export function markdownOn(topic: string): string {
  const text =
    exactlyOn(topic) ??
    sectionIn(pages(), topic, '.*\\W') ??
    itemIn(read('glossary'), `**${topic.toLowerCase()}**`);
  if (text !== undefined) return text;
  throw new RollcallError('USAGE_INVALID', `There is no help on ${topic}`, {
    remedy: `"rollcall --help" lists the verbs. The pages are ${pages().join(', ')}.`,
  });
}

function exactlyOn(name: string): string | undefined {
  // The one kind of decision that is no error.
  const topic = name === 'ROWS_ON_HOLD' ? 'decide' : name;
  const [page = '', anchor] = topic.split('#');
  if (anchor !== undefined) return sectionIn([page], anchor);
  return sectionOf('runbooks', topic) ?? partOf(topic) ?? read(page) ?? sectionIn(pages(), topic);
}

function read(page: string): string | undefined {
  return pages().includes(page) ? readFileSync(new URL(`${page}.md`, DOCS), 'utf8') : undefined;
}

/** Returns the section of a page whose heading has this anchor in links. `before`: a pattern of what else it may begin with. */
function sectionOf(page: string, anchor: string, before = ''): string | undefined {
  const sections = read(page)?.split(/^(?=##+ )/m);
  const title = new RegExp(`^#+ ${before}${anchor.replaceAll(/\W/g, '\\W+')}\\W*\n`, 'i');
  return sections?.find((section) => title.test(section));
}

/** The first such section of some pages. Its heading names its page, since a heading alone says little. */
function sectionIn(some: readonly string[], anchor: string, before?: string): string | undefined {
  const [found] = some.flatMap((page) => {
    const section = sectionOf(page, anchor, before);
    return section === undefined ? [] : [section.replace('\n', ` (rollcall help ${page})\n`)];
  });
  return found;
}

/** Returns the paragraph on why a part of a tenant is not ready. */
function partOf(name: string): string | undefined {
  return itemIn(sectionOf('operations', 'what-is-not-ready'), `\`${name}\`:`);
}

/** Returns the item of a list that has this text. */
function itemIn(list: string | undefined, text: string): string | undefined {
  return list?.split(/^(?=- |#)/m).find((item) => item.includes(text));
}

/** Replaces links to documents by the commands that print these documents. */
function asCommands(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]+)\]\(([a-z-]+)\.md(#[^)]*)?\)/g, '$1 (rollcall help $2$3)')
    .replaceAll(/\[([^\]]+)\]\(#[\w-]+\)/g, '$1');
}
