import type { Stack } from '../stack/start-stack.ts';
import type { HubProcess } from './hub-process.ts';

/** Everything that a part of the benchmark needs. */
export interface Bench {
  readonly stack: Stack;
  readonly hub: HubProcess;
  readonly rounds: number;
  readonly profileFolder: string | null;
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}
