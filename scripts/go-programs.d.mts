/** The path of Helm, from the PATH or the cache; in CI Go builds it once. Undefined where it is not to be had. */
export function findHelm(print: (line: string) => void): Promise<string | undefined>;
