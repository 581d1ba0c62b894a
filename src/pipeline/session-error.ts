/** Why a session ended, for whoever waits for something of it; the abort of its signal may give no reason. */
export function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('the session ended');
}
