import { readdirSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { commandsHere } from '../commands-here.ts';
import { wrapped } from '../core/words.ts';
import { RollcallError } from '../errors.ts';

const DOCS = new URL('../../docs/', import.meta.url);

/** `rollcall help`: explains a verb, or prints a part of the documents. `program` has the verb that is asked for. */
export function helpCommand(program: Command): Command {
  return new Command('help')
    .argument(
      '[topic]',
      'a verb, an error code, an alert, a part that is not ready, a page, a heading such as "rights", or <page>#<heading>',
    )
    .description(
      'Explains a verb, says what to do about an error or an alert, or prints a page of the documents.',
    )
    .addHelpText('after', () => `\nPages: ${pages().join(', ')}`)
    .action((topic: string = 'rollcall') => {
      const verb = [program, ...program.commands].find((each) => each.name() === topic);
      // A checkout also has the verb `hub`, which explains itself.
      if (verb !== undefined && partOf(topic) === undefined) verb.outputHelp();
      else process.stdout.write(forTerminal(helpOn(topic), process.stdout.columns ?? 100));
    });
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

/** The section of the runbooks on an error or an alert, why a part is not ready, a page or its section. Throws `USAGE_INVALID`. */
export function markdownOn(name: string): string {
  // The one kind of decision that is no error.
  const topic = name === 'ROWS_ON_HOLD' ? 'decide' : name;
  const [page = '', anchor] = topic.split('#');
  const text =
    anchor === undefined
      ? (sectionOf('runbooks', topic) ?? partOf(topic) ?? read(page) ?? sectionIn(pages(), topic))
      : sectionIn([page], anchor);
  if (text !== undefined) return text;
  throw new RollcallError('USAGE_INVALID', `There is no help on ${topic}`, {
    remedy: `"rollcall --help" lists the verbs. The pages are ${pages().join(', ')}.`,
  });
}

function read(page: string): string | undefined {
  return pages().includes(page) ? readFileSync(new URL(`${page}.md`, DOCS), 'utf8') : undefined;
}

/** Returns the section of a page whose heading has this anchor in links. */
function sectionOf(page: string, anchor: string): string | undefined {
  const sections = read(page)?.split(/^(?=##+ )/m);
  const title = new RegExp(`^#+ ${anchor.replaceAll(/\W/g, '\\W+')}\\W*\n`, 'i');
  return sections?.find((section) => title.test(section));
}

/** The first such section of some pages. Its heading names its page, since a heading alone says little. */
function sectionIn(some: readonly string[], anchor: string): string | undefined {
  const [found] = some.flatMap((page) => {
    const section = sectionOf(page, anchor);
    return section === undefined ? [] : [section.replace('\n', ` (rollcall help ${page})\n`)];
  });
  return found;
}

/** Returns the paragraph on why a part of a tenant is not ready. */
function partOf(name: string): string | undefined {
  const items = sectionOf('operations', 'what-is-not-ready')?.split(/^(?=- )/m);
  return items?.find((item) => item.startsWith(`- \`${name}\`:`));
}

/** Replaces links to documents by the commands that print these documents. */
function asCommands(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]+)\]\(([a-z-]+)\.md(#[^)]*)?\)/g, '$1 (rollcall help $2$3)')
    .replaceAll(/\[([^\]]+)\]\(#[\w-]+\)/g, '$1');
}
