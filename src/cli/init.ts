import { readFileSync, writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { commandsHere } from '../commands-here.ts';
import { RollcallError } from '../errors.ts';
import { verbAction, type Verb } from './verb-action.ts';

/** `rollcall init`: writes a configuration to begin with. */
export function command(): Command {
  return new Command('init')
    .description(
      'Writes a commented configuration to ./rollcall.yaml, or where --config says. It never overwrites a file.',
    )
    .action(verbAction(init));
}

async function init({ configPath, output }: Verb): Promise<void> {
  const text = commandsHere(readFileSync(new URL('init/rollcall.yaml', import.meta.url), 'utf8'));
  try {
    writeFileSync(configPath, text, { flag: 'wx' });
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    const why = code === 'EEXIST' ? 'exists already, and is not overwritten' : `cannot be written (${code})`;
    const remedy = 'Delete or move that file, make its folder writable, or name another file with --config.';
    throw new RollcallError('USAGE_INVALID', `${configPath} ${why}`, { remedy, cause: error });
  }
  output.line(`${output.colors.green('✓')} ${configPath} has been written`);
  output.line(
    `${output.colors.cyan('→')} Fill in the addresses, set HUB_ID and HUB_SECRET, and test them with:\n  rollcall check`,
  );
  output.data({ written: configPath });
}
