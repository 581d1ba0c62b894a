import type { TenantConfig } from '../config.ts';
import type { HostPermits } from '../hub/create-hub.ts';
import { Semaphore, Turns } from '../hub/semaphore.ts';

/** Requests of this process at once to one host, however many of its tenants are there. */
const REQUESTS_AT_ONCE = 32;
/**
 * Full syncs of collections at once: those of one host more than a tenant has collections, so that it has all of its own at once, and
 * together more than those of a host, so that a host that fails delays no other.
 */
const FULL_SYNCS_AT_ONCE = { ofHost: 24, together: 48 };
/** A full sync to which no page has come for so long waits for its hub: the next one begins. */
const STALLED_MS = 30_000;

/** What the tenants at one hub host share. */
interface HubHost {
  readonly permits: HostPermits;
  readonly fullSyncs: Turns;
}

/** By {@link hostOf}. */
export type HubHosts = ReadonlyMap<string, HubHost>;

/** Scheme, host and port of a hub. */
export function hostOf({ baseUrl }: Pick<TenantConfig['hub'], 'baseUrl'>): string {
  return new URL(baseUrl).origin;
}

/** A host gets as many requests at once as the tenant that may have most, and 32 at least. */
export function hubHosts(tenants: readonly Pick<TenantConfig, 'hub'>[]): HubHosts {
  const hubs = Map.groupBy(
    tenants.map(({ hub }) => hub),
    hostOf,
  );
  const fullSyncs = new Semaphore(FULL_SYNCS_AT_ONCE.together);
  return new Map(
    [...hubs].map(([host, those]) => {
      const atOnce = Math.max(REQUESTS_AT_ONCE, ...those.map((hub) => hub.maxConcurrentRequests));
      const all = new Semaphore(atOnce);
      // A Core API that fails, in all tenants of the host, must not delay the other APIs.
      const permits = { all, core: new Semaphore(Math.ceil(atOnce / 2)) };
      const turns = new Semaphore(FULL_SYNCS_AT_ONCE.ofHost, fullSyncs);
      return [host, { permits, fullSyncs: new Turns(turns, STALLED_MS) }];
    }),
  );
}
