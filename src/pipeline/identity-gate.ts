import { canVerifyIdentity, judgeOverlap } from '../core/tenant-identity.ts';
import { isOversizedDelta } from '../core/watermark.ts';
import { RollcallError } from '../errors.ts';
import type { ActiveSync } from './active-sync.ts';
import { BecomesFull } from './becomes-full.ts';
import type { SourcePage } from './source-page.ts';
import type { SyncParts } from './sync-parts.ts';
import { WRONG_TENANT_REMEDY, type TenantIdentity } from './tenant-identity.ts';

/** A page that may be published, once {@link IdentityGate.prove} has passed it where that is needed. */
export interface AdmittedPage {
  readonly page: SourcePage;
  /** The first pages have enough published rows: the collection is this tenant's. */
  readonly isProven: boolean;
}

export interface IdentityGateOptions {
  readonly parts: SyncParts;
  readonly sync: ActiveSync;
  readonly knownRowsBefore: number;
  /** A person has confirmed that rows unlike the published ones are right. */
  readonly acceptNew: boolean;
  readonly signal: AbortSignal;
}

/** Published rows that a sync met, kept to ask for them again. */
const MET_KEPT = 3;

/**
 * Stops another tenant's rows before anything of them is published (design, "Guard"). It defers the first pages of a sync
 * until enough of their rows are published ones, and asks the hub for published rows where the rows at hand prove nothing.
 * A full sync of another tenant's rows throws `HUB_FOREIGN_DATA`; an incremental one {@link BecomesFull}.
 */
export class IdentityGate {
  readonly #options: IdentityGateOptions;
  /** Null where the rows cannot be another tenant's, or a person has accepted them. */
  readonly #identity: TenantIdentity | null;
  /** First pages, until it is clear that they are this tenant's; null from then on. */
  #deferred: SourcePage[] | null;
  #deferredRows = 0;
  #deferredKnown = 0;
  #metKnown: readonly string[] = [];
  #hasVerified = false;

  constructor(options: IdentityGateOptions) {
    this.#options = options;
    this.#identity = options.acceptNew ? null : options.parts.identity;
    this.#deferred = this.#identity !== null && canVerifyIdentity(options.knownRowsBefore) ? [] : null;
  }

  /** The pages that may go on: this one, none yet, or all that were deferred. */
  async admit(page: SourcePage): Promise<readonly AdmittedPage[]> {
    if (this.#deferred === null) return [{ page, isProven: false }];
    this.#deferred.push(page);
    const keys = keysOf(page);
    const known = await this.#options.parts.writer.known(keys);
    this.#deferredRows += keys.length;
    this.#deferredKnown += known.length;
    this.#metKnown = [...this.#metKnown, ...known].slice(-MET_KEPT);
    return this.#judge(this.#deferred, false);
  }

  /** No more pages come that could prove anything: the deferred ones are judged as they are. */
  async close(): Promise<readonly AdmittedPage[]> {
    return this.#deferred === null ? [] : this.#judge(this.#deferred, true);
  }

  /** Whether a page of new rows alone must be proven before it is published. */
  needsProof({ isProven }: AdmittedPage): boolean {
    return (
      this.#identity !== null && !isProven && !(this.#options.knownRowsBefore === 0 && this.#hasVerified)
    );
  }

  /** Called before a page is published: other collections' rows may be another tenant's, or this one's have been. */
  async require(admitted: AdmittedPage): Promise<void> {
    if (this.#identity === null) return;
    const { collection } = this.#options.parts.deletions;
    if (this.#identity.isFlagged(collection)) await this.#clearIfBack(admitted);
    await this.#identity.require(collection);
  }

  /**
   * A page of new rows alone may be the first of another tenant's: in an incremental sync, which would take them for
   * changes; in a full sync during which the hub was switched; in a collection too small to judge.
   */
  async prove(page: SourcePage): Promise<void> {
    const { sync, knownRowsBefore } = this.#options;
    const identity = this.#identity;
    if (identity === null) return;
    const { collection } = this.#options.parts.deletions;
    const verdict = await identity.verify(collection, this.#metKnown);
    if (verdict === 'wrong-tenant') throw await this.#stop('the hub has none of the published rows');
    const isVerified = verdict === 'own' || sync.seen !== null || !canVerifyIdentity(knownRowsBefore);
    if (!isVerified && !(await this.#listsKnownRows())) throw new BecomesFull();
    // The right hub may have returned since it sent the page: then it does not know the page's rows.
    const isCurrent = await identity.stillHas(collection, keysOf(page));
    if (!isCurrent) throw await this.#stop('asked again, the hub has none of its rows');
    this.#hasVerified = true;
  }

  async #judge(deferred: readonly SourcePage[], isAll: boolean): Promise<readonly AdmittedPage[]> {
    const { sync, knownRowsBefore } = this.#options;
    const rows = this.#deferredRows;
    const known = this.#deferredKnown;
    // An incremental sync brings a few new rows: that is what it is for.
    const isFew = sync.seen === null && isAll && !isOversizedDelta(rows, knownRowsBefore);
    const first = { rows, knownAmongThem: known, knownRows: knownRowsBefore, pages: deferred.length, isAll };
    const verdict = isFew ? 'own' : judgeOverlap(first);
    if (verdict === 'unsure') return [];
    if (verdict === 'wrong-tenant')
      throw await this.#stop(`${known} of the first ${rows} rows are published ones`);
    this.#deferred = null;
    return deferred.map((page) => ({ page, isProven: known > 0 }));
  }

  /** The collection had another tenant's rows: its own, met by a full sync, end that. */
  async #clearIfBack({ page, isProven }: AdmittedPage): Promise<void> {
    const { parts, sync } = this.#options;
    const keys = keysOf(page);
    if (keys.length === 0 || sync.seen === null) return;
    const isOwn = isProven || (await parts.writer.known(keys)).length > 0;
    if (!isOwn) await this.prove(page);
    await this.#identity?.clear(parts.deletions.collection);
  }

  /** Reads the first page of the hub's list: for hubs that cannot be asked for single rows. */
  async #listsKnownRows(): Promise<boolean> {
    const { parts, signal } = this.#options;
    for (const scan of await parts.scans('known-first')) {
      const pages = scan.open({ modifiedAfterMs: undefined, readVersion: parts.writer.readVersion, signal });
      try {
        const first = await pages.next();
        if (first.done === true || first.value.readings.length === 0) continue;
        return (await parts.writer.known(keysOf(first.value))).length > 0;
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
      { remedy: `Nothing of them was published. ${WRONG_TENANT_REMEDY}` },
    );
  }
}

function keysOf(page: SourcePage): string[] {
  return page.readings.flatMap(({ key }) => key ?? []);
}
