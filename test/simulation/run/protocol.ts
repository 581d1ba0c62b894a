/* The messages between the runner and its workers, of which each core has one. */

export type WorkerTask =
  | {
      readonly task: 'histories';
      /** Names of kinds, or none for all. */
      readonly kinds: readonly string[];
      readonly firstSeed: number;
      /** This worker plays every nth seed. */
      readonly stride: number;
      /** The first seed that is not played; Infinity: only the clock ends the run. */
      readonly endSeed: number;
      /** By the real clock, ms since the epoch; Infinity: only the seeds end the run. */
      readonly untilMs: number;
      readonly withKnownSeeds: boolean;
    }
  | { readonly task: 'mutations'; readonly indexes: readonly number[]; readonly most: number };

export interface Violation {
  readonly kind: string;
  readonly seed: number;
  readonly problems: readonly string[];
}

export interface Caught {
  readonly index: number;
  readonly histories: number;
  /** Null: not caught. */
  readonly problem: string | null;
}

export type WorkerMessage =
  | {
      readonly type: 'played';
      /** Since the last message, by kind. */
      readonly histories: Readonly<Record<string, number>>;
      readonly happened: Readonly<Record<string, number>>;
      readonly violations: readonly Violation[];
    }
  | { readonly type: 'caught'; readonly caught: Caught };
