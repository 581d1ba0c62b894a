import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import tab from '@bomb.sh/tab/commander';
import { Argument, Command } from 'commander';
import { parse } from 'yaml';
import { COLLECTIONS } from '../model/collections.ts';
import { verbAction, type VerbContext } from './verb-action.ts';
import type { Verbs } from './program.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/rollcall.mjs', import.meta.url));

/** `rollcall completion <shell>`: prints a script by which the shell completes verbs, options, tenants and collections. */
export function command(): Command {
  return new Command('completion')
    .description(
      'Prints a script by which a shell completes verbs, options, and the names of tenants and collections.',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      `
  bash   source <(rollcall completion bash)      in ~/.bashrc; needs the package bash-completion
  zsh    source <(rollcall completion zsh)       in ~/.zshrc, after compinit
  fish   rollcall completion fish | source       in ~/.config/fish/config.fish`,
    )
    .action(
      verbAction(async (_context, { args }) => {
        tab(new Command('rollcall')).setup('rollcall', `'${PROGRAM}'`, args[0] ?? '');
      }),
    );
}

/** `rollcall complete -- <words>`: what the scripts ask for. Prints a value and its description a line. */
export function completeCommand(verbs: Verbs): Command {
  return new Command('complete')
    .allowUnknownOption()
    .argument('[words...]')
    .action(
      verbAction(async (context, { args }) => {
        const program = new Command('rollcall');
        for (const [summary, load, isHidden] of Object.values(verbs))
          if (isHidden === undefined)
            program.addCommand(describedShortly((await (await load()).command(verbs)).summary(summary)));
        const completion = tab(program);
        completion.commands.delete('complete');
        const names = { tenant: () => tenantsOf(context), collection: () => COLLECTIONS };
        for (const command of [completion, ...completion.commands.values()]) {
          for (const [name, values] of Object.entries(names)) {
            const takers = [command.options.get(name), command.arguments.get(name)];
            for (const taker of takers) {
              if (taker !== undefined) taker.handler = (add) => values().forEach((value) => add(value, ''));
            }
          }
        }
        completion.parse(args.map((word) => word ?? ''));
      }),
    );
}

/** Shells have room for one line; descriptions are for `--help`. */
function describedShortly(command: Command): Command {
  for (const each of [command, ...command.commands]) each.description(each.summary() || each.description());
  return command;
}

/** The ids as they are written: a variable without a value, or no file at all, must not disturb a person who types. */
function tenantsOf(context: VerbContext): readonly string[] {
  try {
    const { tenants } = parse(readFileSync(context.configPath, 'utf8')) as { tenants: { id: string }[] };
    return tenants.map(({ id }) => id);
  } catch {
    return [];
  }
}
