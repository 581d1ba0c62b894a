/** Runs a script as a child that gets this process' signals and ends with it. Returns its exit code; 128 + n after signal n. */
export function runNode(node: string, args: string[]): Promise<number>;
