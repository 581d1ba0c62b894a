import type { Command } from 'commander';

/** A verb in the list of verbs; its code is loaded only when it is called. */
export interface Verb {
  readonly name: string;
  readonly summary: string;
  /** Not for people: it is in no list of verbs. */
  readonly hidden?: true;
  readonly load: () => Promise<Command>;
}
