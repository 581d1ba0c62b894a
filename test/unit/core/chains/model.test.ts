import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { resolve } from '../../../../src/core/chains/resolve.ts';
import { check, histories, type World } from './support/history.ts';

/** How long to search, shared by the worlds; a run on demand may take hours. */
const BUDGET_MS = Number(process.env['ROLLCALL_MODEL_BUDGET_MS'] ?? 3_000);
/** To repeat a run. */
const SEED = Number(process.env['ROLLCALL_MODEL_SEED'] ?? Date.now() % 2 ** 31);

/**
 * What is promised of records that name no student has limits (invariant 11): a world of them is only for a run on
 * demand, whose findings a person judges.
 */
const WORLDS: readonly World[] =
  process.env['ROLLCALL_MODEL_NAMELESS'] === undefined
    ? ['orderly', 'contradictory', 'forgetful']
    : ['nameless'];

describe('random histories of a hub', () => {
  it.each(WORLDS)(
    '%s: a wrong, missing or repeated event, or a wrong current version',
    (world) => {
      let commands = 0;
      const details = fc.check(
        fc.property(histories(world, 60), (history) => {
          commands += history.length;
          check(world, history, resolve);
        }),
        {
          seed: SEED,
          numRuns: 1_000_000_000,
          interruptAfterTimeLimit: BUDGET_MS / WORLDS.length,
          markInterruptAsFailure: false,
        },
      );
      process.stdout.write(
        `chains, ${world}: seed ${SEED}, ${details.numRuns} histories, ${commands} commands\n`,
      );
      const why = `${String(details.errorInstance)}\n${fc.defaultReportMessage(details) ?? ''}`;
      expect(details.failed ? why : null).toBeNull();
      expect(details.numRuns).toBeGreaterThan(0);
    },
    BUDGET_MS + 60_000,
  );
});
