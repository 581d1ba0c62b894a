import type { KeyedRow } from '../core/rows/row-changes.ts';
import { rejectWithoutRow } from '../core/rows/unreadable-row.ts';
import { isFromHub, type ErrorCode, type RollcallError } from '../errors.ts';
import { HubError } from '../hub/hub-error.ts';
import { keyOfAll } from '../model/keys.ts';
import type { SourceEnd, SourcePage } from '../source/source-scan.ts';
import type { Source } from '../source/source.ts';
import type { Tenant } from '../table/tenant.ts';
import type { HubFindings } from './hub-findings.ts';

/** So many scopes in a row without an answer fail the sync; fewer, if the collection has fewer. */
const MOST_IN_A_ROW = 10;
/** These say nothing about the scope that was asked for. */
const OF_EVERYBODY: ReadonlySet<ErrorCode> = new Set([
  'HUB_CIRCUIT_OPEN',
  'HUB_TOKEN_UNAVAILABLE',
  'HUB_TOKEN_REFUSED',
]);

/** Whether a failure may be that of the scope that was asked for, so that others can still be read. */
export function mayBeOfOneScope(error: unknown): error is RollcallError {
  return isFromHub(error) && !OF_EVERYBODY.has(error.code);
}

/** The collection whose scopes are read. */
interface Own {
  readonly source: Source;
  readonly findings: HubFindings;
  readonly tenant: Pick<Tenant, 'runtime'>;
}

/** The answers for the scopes of one sync, in their order. It distinguishes a hub in trouble from scopes that it does not show. */
export class ScopeAnswers {
  readonly #own: Own;
  readonly #source: Source;
  readonly #mostInARow: number;
  #inARow = 0;
  /** Whether a scope was answered. */
  hasAnswer = false;
  readonly #rejects: KeyedRow[] = [];
  readonly #readAgain: string[] = [];
  /** An error that may pass. */
  #passing: RollcallError | null = null;

  /** `scopes`: how many the collection has, whether the sync reads them or not. */
  constructor(own: Own, scopes: number) {
    this.#own = own;
    this.#source = own.source;
    this.#mostInARow = Math.min(MOST_IN_A_ROW, scopes);
  }

  /** Whether a scope had no answer that may have one soon, and no incremental sync asks for it. */
  get mayHaveMore(): boolean {
    return this.#passing !== null && this.#source.changes === undefined;
  }

  /** The pages of a scope. One that cannot be read becomes a reject; throws a failure that concerns others too. */
  async *read(scope: string, pages: AsyncGenerator<SourcePage, SourceEnd>): typeof pages {
    try {
      const end = yield* pages;
      this.#inARow = 0;
      this.hasAnswer = true;
      // A plain collection has no scope that could be a reject.
      if (end.isUnread !== true && scope !== '') this.#readAgain.push(this.#source.rejectKeyOf(scope));
      return end;
    } catch (error) {
      if (!mayBeOfOneScope(error)) throw error;
      this.#noteRefusal(scope, error);
      const nothing = { rows: 0, totalAtStart: null, totalAtEnd: null };
      return { reason: 'no-rows', paging: 'keyset', ...nothing, isUnread: true };
    }
  }

  /** What becomes of `rejects`, now that it is clear that the hub is not in trouble; throws if it may be. */
  end(): { readonly rejects: readonly KeyedRow[]; readonly readAgain: readonly string[] } {
    if (!this.hasAnswer && this.#passing !== null) throw this.#passing;
    return { rejects: this.#rejects, readAgain: this.#readAgain };
  }

  #noteRefusal(scope: string, error: RollcallError): void {
    this.#inARow += 1;
    if (this.#inARow >= this.#mostInARow) throw error;
    const rejectKey = this.#source.rejectKeyOf(scope);
    const decoded = rejectWithoutRow(rejectKey, reasonOf(error));
    // Its key is that of no row, since no row has been seen.
    this.#rejects.push({ key: keyOfAll(scope), rejectKey, decoded });
    if (error.reaction !== 'retry') return;
    this.#passing = error;
    const nowMs = this.#own.tenant.runtime.now();
    const unansweredMs = nowMs - (this.#own.findings.unread.get(scope) ?? nowMs);
    // A pause as long as the trouble has lasted doubles each time.
    this.#source.changes?.note([scope], nowMs + unansweredMs);
  }
}

/** It is published, so it names no id and no content. Without an answer that refuses it, the message says what does not fit. */
function reasonOf(error: RollcallError): string {
  const status = error instanceof HubError ? error.status : null;
  if (status === null && error.reaction === 'person') return error.message;
  return `it cannot be read: ${error.code}${status === null ? '' : ` (HTTP ${status})`}`;
}
