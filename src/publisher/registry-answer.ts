/** What of a registry's answer may be repeated in errors and findings: not its free text (invariant 9). */

const LEVELS: ReadonlySet<string> = new Set([
  'NONE',
  'BACKWARD',
  'BACKWARD_TRANSITIVE',
  'FORWARD',
  'FORWARD_TRANSITIVE',
  'FULL',
  'FULL_TRANSITIVE',
]);

/** The compatibility level in the answer to `GET /config/{subject}`, `unknown` when it is none that is defined. */
export function levelIn(body: unknown): string {
  const level = (body as { compatibilityLevel?: unknown } | null)?.compatibilityLevel;
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
