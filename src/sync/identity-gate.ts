import { overlapsEnough } from '../core/tenant-identity.ts';
import { RollcallError } from '../errors.ts';
import type { ActiveSync } from '../table/active-sync.ts';
import { BecomesFull } from './becomes-full.ts';
import type { SyncParts } from './sync-parts.ts';
import { WRONG_TENANT_REMEDY, type IdentityCheck } from './identity-check.ts';

interface IdentityGateOptions {
  readonly parts: Pick<SyncParts, 'collection' | 'identity'>;
  readonly sync: ActiveSync;
  readonly knownRowsBefore: number;
  /** A person has confirmed that rows unlike the published ones are right. */
  readonly acceptNew: boolean;
}

/**
 * Stops another tenant's rows before any of them is published (design, "Guard"). A page passes if enough of its rows
 * are published ones. Before any other page, the gate asks whether the hub still has published rows. A full sync of another
 * tenant's rows throws `HUB_FOREIGN_DATA`; an incremental one {@link BecomesFull}.
 */
export class IdentityGate {
  readonly #options: IdentityGateOptions;
  /** Null where the rows cannot be another tenant's, or a person has accepted them. */
  readonly #identity: IdentityCheck | null;
  #isProven = false;

  constructor(options: IdentityGateOptions) {
    this.#options = options;
    this.#identity = options.acceptNew ? null : options.parts.identity;
  }

  /** Whether a page needs no {@link prove}: `knownAmongThem` of its rows are published. */
  readonly overlaps = (rows: number, knownAmongThem: number): boolean => {
    const { knownRowsBefore: knownRows } = this.#options;
    // Hardly a page of a first load has a published row: the first one is proven for all.
    if (this.#identity === null || (knownRows === 0 && this.#isProven)) return true;
    return overlapsEnough({ rows, knownAmongThem, knownRows });
  };

  /** A page of new rows may be another tenant's: an incremental sync would take them for changes. */
  async prove(): Promise<void> {
    const { parts, sync, knownRowsBefore } = this.#options;
    const { collection } = parts;
    if (this.#identity === null) return;
    if (await this.#identity.isOwn(collection)) {
      this.#isProven = true;
      return;
    }
    if (sync.seen === null) throw new BecomesFull();
    this.#identity.flag(collection);
    throw new RollcallError(
      'HUB_FOREIGN_DATA',
      `Almost none of the rows that the hub returned for ${collection} match the ${knownRowsBefore} already published, and the ` +
        `hub shows none of those. They may be another tenant's`,
      { remedy: `None of them was published. ${WRONG_TENANT_REMEDY}` },
    );
  }

  /** A page of so many rows was accepted: in a full sync, the collection's own rows are back. */
  noteOwn(rows: number): void {
    const { sync, parts } = this.#options;
    if (sync.seen !== null && rows > 0) this.#identity?.clear(parts.collection);
  }
}
