import { inspect } from 'node:util';
import picocolors from 'picocolors';
import { RollcallError } from '../errors.ts';
import { EXIT, exitCodeOf } from './exit-code.ts';
import { safeErrorMessage } from '../telemetry/safe-error.ts';
import { wantsColors } from './output.ts';
import type { ProgressStream } from './progress-line.ts';

/**
 * Tells a person what went wrong and what to do, without a stack trace, and returns the exit code.
 * `ROLLCALL_DEBUG=1` adds everything that is known, which may include content of rows.
 */
export function reportError(
  error: unknown,
  options: {
    stderr: ProgressStream;
    env: Readonly<Record<string, string | undefined>>;
    color?: boolean | undefined;
    /** Whether a person asked to stop: then an abort is no failure worth explaining. */
    stopped: boolean;
  },
): number {
  const { stderr, env, stopped } = options;
  const colors = picocolors.createColors(wantsColors(stderr, options));
  if (stopped && error instanceof Error && error.name === 'AbortError') {
    stderr.write(`${colors.yellow('✗')} stopped before it was done\n`);
    return EXIT.failed;
  }
  const [message, remedy] =
    error instanceof RollcallError
      ? [error.message, error.remedy]
      : [`Something unforeseen happened: ${safeErrorMessage(error)}`, 'ROLLCALL_DEBUG=1 shows where.'];
  stderr.write(`${colors.red('✗')} ${message}\n${colors.cyan('→')} ${remedy}\n`);
  if (isSet(env['ROLLCALL_DEBUG'])) stderr.write(`${inspect(error, { depth: 5 })}\n`);
  return exitCodeOf(error);
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0';
}
