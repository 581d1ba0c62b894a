import { describe, expect, it } from 'vitest';
import { firstCatch } from './run/first-catch.ts';
import { TENANT_MISTAKES } from './tenants/tenant-mistakes.ts';
import { playTenant } from './tenants/play-tenant.ts';
import { TENANT_KINDS, type TenantKindName } from './tenants/tenant-kinds.ts';

/*
 * Whole random histories of a tenant of several collections, each repeated by its seed: see tenants/tenant-history.ts
 * and `npm run test:simulation`, which plays thousands of them.
 * ROLLCALL_HISTORIES_MS: for how long new seeds are played besides the fixed ones, for all kinds together.
 */

const NAMES = Object.keys(TENANT_KINDS) as TenantKindName[];
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
  'current',
  'stale rows',
  'OWNERSHIP_LOST',
  'redis: flushed',
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

async function expectNoProblem(seed: number, name: TenantKindName): Promise<ReadonlyMap<string, number>> {
  const { problems, happened } = await playTenant({ seed, kind: TENANT_KINDS[name] });
  expect(problems, `npm run test:simulation -- --kind ${name} --seed ${seed} shows it again`).toEqual([]);
  return happened;
}

describe('histories of a tenant of one collection or several', () => {
  const happened = new Set<string>();

  it.each(NAMES)(
    'with %s end with topics equal to the hub, and no mass removal happens without an approval',
    async (name) => {
      if (!Number.isFinite(BUDGET_MS)) throw new Error('ROLLCALL_HISTORIES_MS is not a number');
      for (const seed of FIXED_SEEDS)
        for (const [what, times] of await expectNoProblem(seed, name)) if (times > 0) happened.add(what);
      const startedAtMs = Date.now();
      const firstSeed = startedAtMs % 1_000_000_000;
      for (let seed = firstSeed; Date.now() - startedAtMs < BUDGET_MS / NAMES.length; seed += 1)
        await expectNoProblem(seed, name);
    },
    TIMEOUT_MS,
  );

  it('include each trouble that the checks need', () => {
    expect(MUST_HAPPEN.filter((what) => !happened.has(what))).toEqual([]);
  });
});

describe('the checks of a history of a tenant', () => {
  it.each(TENANT_MISTAKES.filter(({ name, kind }) => kind.startsWith('users') || QUICKLY_CAUGHT.has(name)))(
    'notice that $name',
    async ({ kind, finds, mistake, name }) => {
      const play = (seed: number): ReturnType<typeof playTenant> =>
        playTenant({ seed, kind: TENANT_KINDS[kind], mistake });
      const { problem } = await firstCatch({ name, kind, finds, play }, MISTAKE_SEEDS);
      expect(problem).not.toBeNull();
    },
    TIMEOUT_MS,
  );
});
