import { inspect } from 'node:util';
import { commandsHere } from '../commands-here.ts';
import { RollcallError } from '../errors.ts';
import { EXIT, exitCodeOf } from './exit-code.ts';
import { safeErrorMessage } from '../telemetry/safe-error.ts';
import { colorsFor, type Host } from './output.ts';

/**
 * Prints an error and its remedy, without a stack trace, and returns the exit code. `ROLLCALL_DEBUG=1` adds all details,
 * which may include content of rows.
 */
export function reportError(
  error: unknown,
  options: {
    host: Pick<Host, 'stderr' | 'env'>;
    color?: boolean | undefined;
    /** The file that `--config` names. */
    config?: string | undefined;
    /** Whether a signal asked to stop: an abort then needs no explanation. */
    stopped: boolean;
  },
): number {
  const { stderr, env } = options.host;
  const colors = colorsFor(stderr, env, options.color);
  if (options.stopped && error instanceof Error && error.name === 'AbortError') {
    stderr.write(`${colors.yellow('✗')} stopped before it was done\n`);
    return EXIT.failed;
  }
  const [message, remedy] =
    error instanceof RollcallError
      ? [error.message, error.remedy]
      : [
          `Something unexpected happened: ${safeErrorMessage(error)}`,
          'Run the command again with ROLLCALL_DEBUG=1, which shows where it happened.',
        ];
  const text = `${colors.red('✗')} ${message}\n${colors.cyan('→')} ${remedy}\n`;
  stderr.write(commandsHere(text, options.config));
  if (error instanceof RollcallError)
    stderr.write(`${colors.dim(commandsHere(`  see rollcall help ${error.code}`))}\n`);
  if (env['ROLLCALL_DEBUG'] === '1') stderr.write(`${inspect(error, { depth: 5 })}\n`);
  return exitCodeOf(error);
}
