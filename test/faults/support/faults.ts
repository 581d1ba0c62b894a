import { describe, expect, it, vi } from 'vitest';
import { IS_FULL, ROUNDS } from '../../run/rounds.ts';
import { TROUBLES, type Proxy } from './proxy.ts';
import { troubledTenant, type TenantOptions, type TroubledTenant } from './tenant.ts';

/** What happens to a running process, or to a part that it needs. */
export interface Fault<Parts = unknown> {
  /** To follow "after": what happened, at most 48 characters. */
  readonly name: string;
  /** Whether it is in the short form, too, which has one of each kind. */
  readonly isBrief?: boolean;
  /** Causes it, waits until it shows, and heals what Rollcall cannot. */
  readonly strike: (tenant: TroubledTenant, parts: Parts) => Promise<void>;
}

/** Each fault strikes a process that mirrors a changing hub; no fault knows of another. */
export function strikeEach<Parts extends Omit<TenantOptions, 'seed'>>(
  faults: readonly Fault<Parts>[],
  withParts: (strike: (parts: Parts) => Promise<void>) => Promise<void>,
): void {
  const wanted = faults.filter(({ isBrief = false }) => IS_FULL || isBrief);
  describe.each(ROUNDS)('round %i', (seed) => {
    it.each(wanted)('topics equal the hub and repeat no record after $name', ({ strike }) =>
      withParts(async (parts) => {
        await using tenant = await troubledTenant({ seed, ...parts });
        tenant.start();
        await tenant.begun();
        {
          using _ = tenant.churn.live();
          await strike(tenant, parts);
          await tenant.ready();
          await tenant.flows();
        }
        await tenant.heals();
        await tenant.endsWell();
      }),
    );
  });
}

const STOPS_WITHIN_MS = 30_000;

/** Each trouble of a network to a part, one after the other, and SIGTERM while no answer comes. */
export function networkFault(
  part: string,
  proxyOf: (tenant: TroubledTenant) => Pick<Proxy, 'begin' | 'mend' | 'held'>,
): Fault {
  return {
    name: `network faults towards ${part} and a SIGTERM`,
    async strike(tenant) {
      const proxy = proxyOf(tenant);
      for (const trouble of TROUBLES) {
        proxy.begin(trouble);
        // Rollcall must cope with the others by itself.
        if (trouble === 'cut' || trouble === 'stall') {
          await tenant.notReady(part);
          proxy.mend();
        }
        await tenant.ready();
        await tenant.flows();
        proxy.mend();
      }
      proxy.begin('stall');
      const { child } = tenant;
      await vi.waitUntil(() => proxy.held > 0);
      const startedAtMs = performance.now();
      child.kill('SIGTERM');
      await child.endsWith(0);
      expect(performance.now() - startedAtMs).toBeLessThan(STOPS_WITHIN_MS);
      proxy.mend();
      tenant.start();
    },
  };
}
