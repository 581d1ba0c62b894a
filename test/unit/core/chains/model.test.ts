import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { resolve } from '../../../../src/core/chains/chain-rules.ts';
import { check, histories, type World } from './support/history.ts';

/** The worlds share this time for the search; a run on demand may take hours. */
const BUDGET_MS = Number(process.env['ROLLCALL_MODEL_BUDGET_MS'] ?? 3_000);
/** A fixed seed repeats a run. */
const SEED = Number(process.env['ROLLCALL_MODEL_SEED'] ?? Date.now() % 2 ** 31);

/**
 * The promises for records that name no student have limits (invariant 11): their world runs only on demand, and a
 * person judges its findings.
 */
const WORLDS: readonly World[] =
  process.env['ROLLCALL_MODEL_NAMELESS'] === undefined
    ? ['orderly', 'contradictory', 'forgetful']
    : ['nameless'];

describe('random histories of a hub', () => {
  it.each(WORLDS)(
    'lead to each event once and in order, and to the right current versions: %s',
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
