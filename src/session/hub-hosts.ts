import type { TenantConfig } from '../config.ts';
import type { HostPermits } from '../hub/create-hub.ts';
import { Semaphore } from '../hub/semaphore.ts';

/** Requests of this process at once to one host, however many of its tenants are there. */
const REQUESTS_AT_ONCE = 32;

/** What the tenants at one hub host share. */
interface HubHost {
  readonly permits: HostPermits;
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
  return new Map(
    [...hubs].map(([host, those]) => {
      const atOnce = Math.max(REQUESTS_AT_ONCE, ...those.map((hub) => hub.maxConcurrentRequests));
      const all = new Semaphore(atOnce);
      // A Core API that fails, in all tenants of the host, must not delay the other APIs.
      const permits = { all, core: new Semaphore(Math.ceil(atOnce / 2)) };
      return [host, { permits }];
    }),
  );
}
