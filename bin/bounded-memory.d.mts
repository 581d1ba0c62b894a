/** Node's flags for a process that runs for a long time. */
export const NODE_FLAGS: readonly string[];
/** Variables that go with them. */
export const ENVIRONMENT: Readonly<Record<string, string>>;
/** Starts Node again with both, in this process, unless it has them. */
export function boundMemory(): void;
