/** Returns the code of an error of `node:fs` (`ENOENT`), or the name of another error. */
export function errorCodeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
