import { RollcallError } from '../errors.ts';

/** Exit codes of the command line: part of the contract with scripts. */
export const EXIT = { ok: 0, failed: 1, badUse: 2, needsPerson: 3 } as const;

/** The exit code of a command that ran to its end. A failure outweighs what needs a person's decision. */
export function exitCode({ hasFailed = false, needsPerson = false }): number {
  if (hasFailed) return EXIT.failed;
  return needsPerson ? EXIT.needsPerson : EXIT.ok;
}

/** The exit code of a command that ended with an error. */
export function exitCodeOf(error: unknown): number {
  return error instanceof RollcallError && error.source === 'command' ? EXIT.badUse : EXIT.failed;
}
