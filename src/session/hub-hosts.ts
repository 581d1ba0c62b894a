import type { HostPermits } from '../hub/create-hub.ts';
import { Semaphore, Turns } from '../semaphore.ts';

/** How many requests of this process may run at once to one host, however many of its tenants are there. */
const REQUESTS_AT_ONCE = 32;
/**
 * How many full syncs of collections may run at once. `ofHost` is more than a tenant has collections, so that a
 * tenant can run all its full syncs at once. `together` is more than `ofHost`, so that a host that fails delays no
 * other host.
 */
const FULL_SYNCS_AT_ONCE = { ofHost: 24, together: 48 };
/** If a full sync has received no page for this long, it is waiting for its hub, and the next full sync begins. */
const STALLED_MS = 30_000;

/** The limits that all tenants at one hub host share. */
interface HubHost {
  readonly permits: HostPermits;
  readonly fullSyncs: Turns;
}

export type HubHosts = ReturnType<typeof hubHosts>;

/** The hosts that the hubs of this process's tenants are at: by scheme, host and port of the hub. */
export function hubHosts() {
  const allFullSyncs = new Semaphore(FULL_SYNCS_AT_ONCE.together);
  const hosts = new Map<string, HubHost>();
  return ({ baseUrl }: { readonly baseUrl: string }): HubHost => {
    const { origin } = new URL(baseUrl);
    const known = hosts.get(origin);
    if (known !== undefined) return known;
    const host = {
      // If a Core API fails for all tenants of the host, it must not delay the other APIs.
      permits: { all: new Semaphore(REQUESTS_AT_ONCE), core: new Semaphore(REQUESTS_AT_ONCE / 2) },
      fullSyncs: new Turns(new Semaphore(FULL_SYNCS_AT_ONCE.ofHost, allFullSyncs), STALLED_MS),
    };
    hosts.set(origin, host);
    return host;
  };
}
