/** The path of Helm, from the PATH or the cache; in CI Go builds it once. Undefined if it is not available. */
export function findHelm(print: (line: string) => void): Promise<string | undefined>;
