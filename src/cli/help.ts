import { readdirSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { commandsHere } from '../commands-here.ts';
import { RollcallError } from '../errors.ts';

const DOCS = new URL('../../docs/', import.meta.url);

/** `rollcall help`: about a verb, or from the documents. `program` has the verb that is asked for. */
export function helpCommand(program: Command): Command {
  return new Command('help')
    .argument('[topic]', 'a verb; an error code or an alert; a page of the documents')
    .description(
      'Prints all about a verb, what to do about an error or an alert, or a page of the documents.',
    )
    .addHelpText('after', () => `\nPages: ${pages().join(', ')}`)
    .action((topic: string = 'rollcall') => {
      const verb = [program, ...program.commands].find((each) => each.name() === topic);
      if (verb !== undefined) verb.outputHelp();
      else process.stdout.write(commandsHere(pageOn(topic)));
    });
}

function pages(): string[] {
  return readdirSync(DOCS).flatMap((name) => (name.endsWith('.md') ? [name.slice(0, -'.md'.length)] : []));
}

/** The section of the runbooks on an error or an alert, or else a page. Throws `USAGE_INVALID`. */
export function pageOn(topic: string): string {
  const read = (page: string): string => readFileSync(new URL(`${page}.md`, DOCS), 'utf8');
  const [, ...sections] = read('runbooks').split(/^(?=##+ )/m);
  const section = sections.find((each) => each.slice('### '.length).split('\n', 1)[0] === topic);
  const text = section ?? (pages().includes(topic) ? read(topic) : undefined);
  if (text !== undefined) return `${asCommands(text).trim()}\n`;
  throw new RollcallError('USAGE_INVALID', `There is no help on ${topic}`, {
    remedy: `"rollcall --help" lists the verbs. The pages are ${pages().join(', ')}.`,
  });
}

/** Links between documents as the commands that print what they lead to. */
function asCommands(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]+)\]\(([a-z-]+)\.md(#[^)]*)?\)/g, '$1 (rollcall help $2)')
    .replaceAll(/\[([^\]]+)\]\(#[\w-]+\)/g, '$1');
}
