import { COMPATIBILITY } from './registry-library.ts';

/** The parts of a registry's answer that errors and findings may quote; its free text is none of them (invariant 9). */

/** The level of a subject: compacted topics keep values of every schema version, so each version must fit all others. */
export const LEVEL = 'FULL_TRANSITIVE';
export const NOT_FOUND = 404;

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Whether a registry refuses a write because of its mode, or that of the subject. */
export function isReadOnly({ status, body }: { readonly status: number; readonly body: unknown }): boolean {
  return status === 422 && (body as { error_code?: unknown } | null)?.error_code === 42_205;
}

const LEVELS: ReadonlySet<string> = new Set(Object.keys(COMPATIBILITY));

/** Returns the name of a compatibility level, `unknown` for any other text. */
export function knownLevel(level: unknown): string {
  const name = typeof level === 'string' ? level.toUpperCase() : '';
  return LEVELS.has(name) ? name : 'unknown';
}

/** Returns the system's or undici's code of a network failure; their texts may quote received data. */
export function networkTrouble(error: unknown): string {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    const { code } = cause as NodeJS.ErrnoException;
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return code;
    if (cause instanceof AggregateError) return networkTrouble(cause.errors[0]);
  }
  return error instanceof Error && error.name === 'HTTPParserError' ? 'the answer is not HTTP' : 'no answer';
}
