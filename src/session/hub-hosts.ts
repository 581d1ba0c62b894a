import type { HostPermits } from '../hub/create-hub.ts';
import { Semaphore, Turns } from '../semaphore.ts';

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

/** The hosts that the hubs of this process's tenants are at. */
export class HubHosts {
  readonly #fullSyncs = new Semaphore(FULL_SYNCS_AT_ONCE.together);
  readonly #hosts = new Map<string, HubHost>();

  /** By scheme, host and port of the hub. */
  of({ baseUrl }: { readonly baseUrl: string }): HubHost {
    const { origin } = new URL(baseUrl);
    const known = this.#hosts.get(origin);
    if (known !== undefined) return known;
    // A Core API that fails, in all tenants of the host, must not delay the other APIs.
    const permits = { all: new Semaphore(REQUESTS_AT_ONCE), core: new Semaphore(REQUESTS_AT_ONCE / 2) };
    const turns = new Semaphore(FULL_SYNCS_AT_ONCE.ofHost, this.#fullSyncs);
    const host = { permits, fullSyncs: new Turns(turns, STALLED_MS) };
    this.#hosts.set(origin, host);
    return host;
  }
}
