/** Exit code of a command line (without node and script) that a signal stops before it begins. */
export function earlyExitCode(argv: readonly string[]): number;
/** From now on SIGTERM and SIGINT end the process at once. */
export function stopEarly(argv: readonly string[]): void;
/** Removes these listeners: the verb has its own. */
export function handOverStop(): void;
/** The verb of a command line; empty without one. */
export function verbOf(argv: readonly string[]): string;
