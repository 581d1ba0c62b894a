import { COMPATIBILITY } from '@kafkajs/confluent-schema-registry';

/** What of a registry's answer may be repeated in errors and findings: not its free text (invariant 9). */

/** The level of a subject: compacted topics keep values of every version alive, so all versions must fit all. */
export const LEVEL = 'FULL_TRANSITIVE';
export const NOT_FOUND = 404;

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

const LEVELS: ReadonlySet<string> = new Set(Object.keys(COMPATIBILITY));

/** A compatibility level by its name, `unknown` when it is none that is defined. */
export function knownLevel(level: unknown): string {
  const name = typeof level === 'string' ? level.toUpperCase() : '';
  return LEVELS.has(name) ? name : 'unknown';
}

/** Why no answer came: the system's or undici's code. Their texts may hold what was received. */
export function networkTrouble(error: unknown): string {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    const { code } = cause as NodeJS.ErrnoException;
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return code;
    if (cause instanceof AggregateError) return networkTrouble(cause.errors[0]);
  }
  return error instanceof Error && error.name === 'HTTPParserError'
    ? 'what answers is not HTTP'
    : 'no answer';
}
