import { spreadOf, type Spread } from './spread.ts';

/** With absences and their changes derived from the versions, or with the versions alone. */
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

/** Both kinds, in an order that alternates, so that neither profits from coming second. */
export function inTurn(turn: number): readonly Kind[] {
  return turn % 2 === 0 ? CHAIN_KINDS : CHAIN_KINDS.toReversed();
}
