import { readFileSync, writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { RollcallError } from '../errors.ts';
import { verbAction, type VerbContext } from './verb-action.ts';

/** `rollcall init`: writes a configuration to begin with. */
export function command(): Command {
  return new Command('init')
    .description(
      'Writes a commented configuration to ./rollcall.yaml, or where --config says. It never overwrites a file.',
    )
    .addHelpText('after', '\nWith "--config -" it prints the configuration instead.')
    .action(verbAction(init));
}

async function init({ configPath, output }: VerbContext): Promise<void> {
  const text = readFileSync(new URL('init/rollcall.yaml', import.meta.url), 'utf8');
  if (configPath === '-') {
    output.line(text.trimEnd());
    output.data({ configuration: text });
    return;
  }
  try {
    writeFileSync(configPath, text, { flag: 'wx' });
  } catch (error) {
    throw refusalOf(configPath, error);
  }
  output.line(`${output.colors.green('✓')} ${configPath} is written`);
  output.line(
    `${output.colors.cyan('→')} Fill in the addresses, set HUB_ID and HUB_SECRET, then: rollcall check`,
  );
  output.data({ written: configPath });
}

function refusalOf(path: string, error: unknown): RollcallError {
  const { code } = error as NodeJS.ErrnoException;
  return new RollcallError(
    'USAGE_INVALID',
    code === 'EEXIST'
      ? `${path} exists; it is not overwritten`
      : `${path} cannot be written (${code ?? 'unknown error'})`,
    { remedy: 'Name another file with --config, or print the configuration with --config -.', cause: error },
  );
}
