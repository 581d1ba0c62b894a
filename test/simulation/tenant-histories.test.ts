import { describe, expect, it } from 'vitest';
import { firstCatch } from './run/first-catch.ts';
import { TENANT_KINDS } from './run/kinds.ts';
import { TENANT_MISTAKES } from './tenants/tenant-mistakes.ts';
import { playTenant } from './tenants/play-tenant.ts';
import type { TenantTroubles } from './tenants/tenant-history.ts';

/*
 * Whole random histories of a tenant of several collections, each repeated by its seed: see tenants/tenant-history.ts
 * and `npm run test:simulation`, which plays thousands of them.
 * ROLLCALL_HISTORIES_MS: for how long new seeds are played besides the fixed ones, for all kinds together.
 */

const FIXED_SEEDS = Array.from({ length: 6 }, (_, at) => at + 1);
const BUDGET_MS = Number(process.env['ROLLCALL_HISTORIES_MS'] ?? 4_000);
const TIMEOUT_MS = (Number.isFinite(BUDGET_MS) ? BUDGET_MS : 0) + 60_000;
/** The mistakes that show soon; `npm run test:simulation -- --mutate` tries them all. */
const MISTAKE_SEEDS = 60;
const QUICKLY_CAUGHT = new Set([
  'an index that fell back is read and written nevertheless',
  'an error quotes an id',
  'a failed attempt is repeated at once',
  'a re-stamp counts as a change of a row',
  'of an id listed twice now the first row counts, now the last',
  'a row that one full sync missed is removed',
  'a short scan counts as complete',
  'an afterschool that entered the configuration is not loaded at the start',
]);

/** The fixed seeds must include each of these. */
const MUST_HAPPEN = [
  'commit-failed',
  'session-failed',
  'sync-failed',
  'redis: restored',
  'resumed',
  'rebuilt',
  'rows removed',
  'deletions: held',
  'deletions: missing',
  'short',
  'deletions: approved',
  'kafka: decided later',
  'people: approved',
  'other afterschools configured',
];

async function expectNoProblem(seed: number, troubles: TenantTroubles): Promise<ReadonlyMap<string, number>> {
  const { problems, happened } = await playTenant({ seed, troubles });
  const name = `tenant-${troubles}`;
  expect(problems, `npm run test:simulation -- --kind ${name} --seed ${seed} shows it again`).toEqual([]);
  return happened;
}

describe('histories of a tenant', () => {
  const happened = new Set<string>();

  it.each(TENANT_KINDS)(
    'with %s end with topics equal to the hub, and no mass removal happens without an approval',
    async (troubles) => {
      if (!Number.isFinite(BUDGET_MS)) throw new Error('ROLLCALL_HISTORIES_MS is not a number');
      for (const seed of FIXED_SEEDS)
        for (const [what, times] of await expectNoProblem(seed, troubles)) if (times > 0) happened.add(what);
      const startedAtMs = Date.now();
      const firstSeed = startedAtMs % 1_000_000_000;
      for (let seed = firstSeed; Date.now() - startedAtMs < BUDGET_MS / TENANT_KINDS.length; seed += 1)
        await expectNoProblem(seed, troubles);
    },
    TIMEOUT_MS,
  );

  it('include each trouble that the checks need', () => {
    expect(MUST_HAPPEN.filter((what) => !happened.has(what))).toEqual([]);
  });
});

describe('the checks of a history of a tenant', () => {
  it.each(TENANT_MISTAKES.filter(({ name }) => QUICKLY_CAUGHT.has(name)))(
    'notice that $name',
    async ({ troubles, finds, mistake, name }) => {
      const play = (seed: number): ReturnType<typeof playTenant> => playTenant({ seed, troubles, mistake });
      const { problem } = await firstCatch({ name, kind: troubles, finds, play }, MISTAKE_SEEDS);
      expect(problem).not.toBeNull();
    },
    TIMEOUT_MS,
  );
});
