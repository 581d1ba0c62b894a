import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { resolve } from '../../../../src/core/chains/chain-rules.ts';
import { ChainShell } from './support/chain-shell.ts';
import { change, histories, pagesOf, shuffled, type Command } from './support/history.ts';
import { LivingHub } from './support/living-hub.ts';
import { currentVersions } from './support/oracle.ts';

/** Builds the hub's rows after a history of which no incremental sync was read. */
function hubAfter(commands: readonly Command[]): LivingHub {
  const hub = new LivingHub();
  for (const command of commands) change(hub, command, () => false);
  return hub;
}

/** Runs a first full sync in some order and pages, with or without asking for what a page lacks. */
function load(hub: LivingHub, choice: number): ChainShell {
  const shell = new ChainShell(resolve);
  const ask = (id: string) => hub.rows.get(id) ?? null;
  for (const rows of pagesOf(shuffled([...hub.rows.values()], choice), 1 + (choice % 7))) {
    shell.deliver({ rows, ask: choice % 2 === 0 ? ask : undefined });
  }
  shell.deliver({ revisit: shell.unsettled(), mode: 'final', ask });
  return shell;
}

function stepsByAbsence(shell: ChainShell): unknown {
  const byAbsence = Map.groupBy(shell.steps, ({ absenceId }) => absenceId);
  return [...byAbsence].sort(([one], [other]) => (one < other ? -1 : 1));
}

describe('the same records in another order', () => {
  it('give the same ids, steps and current versions for sound chains', () => {
    fc.assert(
      fc.property(histories('orderly', 40), fc.nat(), fc.nat(), (history, one, other) => {
        const hub = hubAfter(history);
        const [first, second] = [load(hub, one), load(hub, other)];
        expect(stepsByAbsence(first)).toEqual(stepsByAbsence(second));
        expect(first.currents).toEqual(second.currents);
      }),
    );
  });

  it('make the same versions current, however contradictory they are', () => {
    fc.assert(
      fc.property(histories('contradictory', 40), fc.nat(), fc.nat(), (history, one, other) => {
        const hub = hubAfter(history);
        const { current } = currentVersions([...hub.rows.values()], []);
        for (const choice of [one, other]) {
          expect(new Set(load(hub, choice).currents.values())).toEqual(current);
        }
      }),
      { numRuns: 300 },
    );
  });
});
