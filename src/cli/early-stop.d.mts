/** What a command line (without node and script) ends with when it is stopped before it has begun. */
export function earlyExitCode(argv: readonly string[]): number;
/** From now on SIGTERM and SIGINT end the process at once. */
export function stopEarly(argv: readonly string[]): void;
/** Ends that: somebody else listens now. */
export function handOverStop(): void;
