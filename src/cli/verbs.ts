import type { Command } from 'commander';

/** A verb as the list of verbs shows it; its code is loaded only when it is called. */
export interface Verb {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

/** All verbs there are, in the order of the help text. */
export const VERBS: readonly Verb[] = [];
