import { spreadOf, type Spread } from './spread.ts';

/** `with`: absences and their changes are derived from the versions; `without`: the versions alone. */
export type Kind = 'with' | 'without';
export const CHAIN_KINDS: readonly Kind[] = ['with', 'without'];

/** One value measured with chains and without, in turns; difference and ratio are those of each turn. */
export interface Paired {
  readonly with: Spread;
  readonly without: Spread;
  readonly difference: Spread;
  readonly times: Spread;
}

/** Pairs the same number of measurements of both kinds by turns. */
export function pairedOf<T>(rounds: Readonly<Record<Kind, readonly T[]>>, of: (round: T) => number): Paired {
  const withChains = rounds.with.map(of);
  const without = rounds.without.map(of);
  const beside = (turn: number): number => without[turn] ?? Number.NaN;
  return {
    with: spreadOf(withChains),
    without: spreadOf(without),
    difference: spreadOf(withChains.map((value, turn) => value - beside(turn))),
    times: spreadOf(withChains.map((value, turn) => value / beside(turn))),
  };
}

/** Returns both kinds in alternating order, so that neither always comes second. */
export function inTurn(turn: number): readonly Kind[] {
  return turn % 2 === 0 ? CHAIN_KINDS : CHAIN_KINDS.toReversed();
}
