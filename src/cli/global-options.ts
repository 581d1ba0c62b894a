import { Option, type Command } from 'commander';

/** Options that every verb understands, before or after the verb. */
export interface GlobalOptions {
  readonly config?: string | undefined;
  readonly json?: boolean | undefined;
  /** False for `--no-color`. */
  readonly color?: boolean | undefined;
}

const NAMES = ['config', 'json', 'color'] as const;

function options(): Option[] {
  return [
    new Option('-c, --config <file>', 'the configuration (else ROLLCALL_CONFIG, else ./rollcall.yaml)'),
    new Option('--json', 'print JSON, for programs'),
    new Option('--no-color', 'print without colours (as NO_COLOR does)'),
  ];
}

/** Adds the global options to a command and its subcommands, unless it has an option of that name. */
export function addGlobalOptions(command: Command): void {
  const taken = new Set(command.options.map((option) => option.attributeName()));
  for (const option of options()) {
    if (!taken.has(option.attributeName())) command.addOption(option);
  }
  // An option before a verb applies to the verb, too.
  command.hook('preSubcommand', (parent, child) => {
    for (const name of NAMES) {
      const source = parent.getOptionValueSource(name);
      if (source === 'cli') child.setOptionValueWithSource(name, parent.getOptionValue(name), 'config');
    }
  });
  for (const child of command.commands) addGlobalOptions(child);
}
