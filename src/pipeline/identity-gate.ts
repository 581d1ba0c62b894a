import { canVerifyIdentity, overlapsEnough } from '../core/tenant-identity.ts';
import { RollcallError } from '../errors.ts';
import type { ActiveSync } from './active-sync.ts';
import { BecomesFull } from './becomes-full.ts';
import type { SourcePage } from './source-scan.ts';
import type { SyncParts } from './sync-parts.ts';
import { WRONG_TENANT_REMEDY, type IdentityCheck } from './identity-check.ts';

export interface IdentityGateOptions {
  readonly parts: SyncParts;
  readonly sync: ActiveSync;
  readonly knownRowsBefore: number;
  /** A person has confirmed that rows unlike the published ones are right. */
  readonly acceptNew: boolean;
  readonly signal: AbortSignal;
}

/**
 * Stops another tenant's rows before any of them is published (design, "Guard"). A page passes if enough of its rows
 * are published ones. Before any other page, the gate asks the hub for published rows; a hub that cannot be asked must
 * list some on a first page. A full sync of another tenant's rows throws `HUB_FOREIGN_DATA`; an incremental one {@link
 * BecomesFull}.
 */
export class IdentityGate {
  readonly #options: IdentityGateOptions;
  /** Null where the rows cannot be another tenant's, or a person has accepted them. */
  readonly #identity: IdentityCheck | null;
  #isProven = false;
  #listsKnown: Promise<boolean> | null = null;

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

  /**
   * A page of new rows may be another tenant's: in an incremental sync, which would take them for changes; in a full sync,
   * also one during which the hub was switched; in a collection too small to judge.
   */
  async prove(page: Pick<SourcePage, 'rows'>): Promise<void> {
    const identity = this.#identity;
    if (identity === null) return;
    const { parts, knownRowsBefore } = this.#options;
    const { collection } = parts.deletions;
    const verdict = await identity.verify(collection);
    if (verdict === 'wrong-tenant') throw await this.#stop('the hub has none of the published rows');
    if (verdict === 'unknown') {
      const isOwn = canVerifyIdentity(knownRowsBefore)
        ? await (this.#listsKnown ??= this.#listsKnownRows())
        : !identity.isOtherFlagged(collection);
      if (!isOwn) throw await this.#stop('its list begins with none of them');
    }
    // The right hub may have returned since it sent the page: then it does not know the page's rows.
    const isCurrent = await identity.stillHas(collection, keysOf(page));
    if (!isCurrent) throw await this.#stop('asked again, the hub has none of its rows');
    this.#isProven = true;
  }

  /**
   * A page was accepted. If the collection was flagged for another tenant's rows, its own rows in a full sync clear the
   * flag.
   */
  async noteOwn(page: Pick<SourcePage, 'rows'>): Promise<void> {
    await this.noteOwnRows(keysOf(page).length);
  }

  /** The same for so many rows. */
  async noteOwnRows(rows: number): Promise<void> {
    const { parts, sync } = this.#options;
    if (sync.seen !== null && rows > 0) await this.#identity?.clear(parts.deletions.collection);
  }

  /** Reads the first pages of the hub's lists: for hubs that cannot be asked for single rows. */
  async #listsKnownRows(): Promise<boolean> {
    const { parts, knownRowsBefore: knownRows, signal } = this.#options;
    for (const scan of await parts.scans()) {
      const pages = scan.open({ modifiedAfterMs: undefined, readVersion: parts.writer.readVersion, signal });
      try {
        const first = await pages.next();
        if (first.done === true) continue;
        const keys = keysOf(first.value);
        const knownAmongThem = (await parts.writer.known.among(keys)).length;
        if (keys.length > 0 && overlapsEnough({ rows: keys.length, knownAmongThem, knownRows })) return true;
      } finally {
        await pages.return(undefined as never).catch(() => undefined);
      }
    }
    return false;
  }

  /** The error that ends the sync. Only a full one marks the collection. */
  async #stop(evidence: string): Promise<Error> {
    const { parts, sync, knownRowsBefore } = this.#options;
    if (sync.seen === null) return new BecomesFull();
    const { collection } = parts.deletions;
    await this.#identity?.flag(collection);
    return new RollcallError(
      'HUB_FOREIGN_DATA',
      `Almost none of the rows that the hub returned for ${collection} match the ${knownRowsBefore} already published: ` +
        `${evidence}. They may be another tenant's`,
      { remedy: `None of them was published. ${WRONG_TENANT_REMEDY}` },
    );
  }
}

function keysOf(page: Pick<SourcePage, 'rows'>): string[] {
  return page.rows.flatMap(({ key }) => key ?? []);
}
