/** The error for callers that wait for an ended session; the abort of its signal may have no reason. */
export function asError(reason: unknown): Error {
  return reason instanceof Error
    ? reason
    : new Error("the tenant's session ended before the request was done");
}
