import type { KeyedRow } from '../core/rows/compare-with-published.ts';
import { rejectWithoutRow } from '../core/rows/unreadable-row.ts';
import { isFromHub, type ErrorCode, type RollcallError } from '../errors.ts';
import { HubError } from '../hub/hub-error.ts';
import { keyOfAll } from '../model/keys.ts';
import type { SourceEnd, SourcePage } from '../source/source-scan.ts';
import type { Source } from '../source/source.ts';
import type { Tenant } from '../table/tenant.ts';
import type { HubFindings } from './hub-findings.ts';

/**
 * After this many scopes in a row without an answer, the sync fails. If the collection has fewer scopes, it fails if
 * none of them is answered.
 */
const MOST_IN_A_ROW = 10;
/** Errors that concern all scopes, whichever scope was asked for. */
const OF_EVERYBODY: ReadonlySet<ErrorCode> = new Set([
  'HUB_CIRCUIT_OPEN',
  'HUB_TOKEN_UNAVAILABLE',
  'HUB_TOKEN_REFUSED',
]);

/** Whether a failure may concern only the scope that was asked for, so that other scopes can still be read. */
export function mayBeOfOneScope(error: unknown): error is RollcallError {
  return isFromHub(error) && !OF_EVERYBODY.has(error.code);
}

/** The collection whose scopes are read. */
interface Own {
  readonly source: Source;
  readonly findings: HubFindings;
  readonly tenant: Pick<Tenant, 'runtime'>;
}

/** The answers for the scopes of one sync, in their order. It distinguishes a hub in trouble from scopes that the hub does not show. */
export class ScopeAnswers {
  readonly #own: Own;
  readonly #mostInARow: number;
  #inARow = 0;
  /** Whether a scope was answered. */
  hasAnswer = false;
  readonly #rejects: KeyedRow[] = [];
  readonly #readAgain: string[] = [];
  /** An error that may pass by itself. */
  #passing: RollcallError | null = null;

  /** `scopes`: how many the collection has, whether the sync reads them or not. */
  constructor(own: Own, scopes: number) {
    this.#own = own;
    this.#mostInARow = Math.min(MOST_IN_A_ROW, scopes);
  }

  /** Whether a scope had no answer but may have one soon, and only another full sync will ask for it. */
  get leavesScopeToFullSync(): boolean {
    return this.#passing !== null && this.#own.source.changedScopes === undefined;
  }

  /** The pages of a scope. A scope that cannot be read becomes a reject. Throws a failure that concerns other scopes, too. */
  async *read(scope: string, pages: AsyncGenerator<SourcePage, SourceEnd>): typeof pages {
    try {
      const end = yield* pages;
      this.#inARow = 0;
      this.hasAnswer = true;
      // A plain collection has no scope that could be a reject.
      if (end.isUnread !== true && scope !== '') this.#readAgain.push(this.#own.source.rejectKeyOf(scope));
      return end;
    } catch (error) {
      if (!mayBeOfOneScope(error)) throw error;
      this.#noteRefusal(scope, error);
      const nothing = { rows: 0, totalAtStart: null, totalAtEnd: null };
      return { reason: 'no-rows', paging: 'keyset', ...nothing, isUnread: true };
    }
  }

  /** What becomes of `rejects`, now that the hub is known not to be in trouble. Throws if the hub may be in trouble. */
  end(): { readonly rejects: readonly KeyedRow[]; readonly readAgain: readonly string[] } {
    if (!this.hasAnswer && this.#passing !== null) throw this.#passing;
    return { rejects: this.#rejects, readAgain: this.#readAgain };
  }

  #noteRefusal(scope: string, error: RollcallError): void {
    this.#inARow += 1;
    if (this.#inARow >= this.#mostInARow) throw error;
    const rejectKey = this.#own.source.rejectKeyOf(scope);
    const decoded = rejectWithoutRow(rejectKey, reasonOf(error));
    // No row has been seen, so the key is not the key of a row.
    this.#rejects.push({ key: keyOfAll(scope), rejectKey, decoded });
    if (error.reaction !== 'retry') return;
    this.#passing = error;
    const nowMs = this.#own.tenant.runtime.now();
    const unansweredMs = nowMs - (this.#own.findings.unread.get(scope) ?? nowMs);
    // The pause is as long as the trouble has lasted, so it doubles each time.
    this.#own.source.changedScopes?.note([scope], nowMs + unansweredMs);
  }
}

/**
 * The reason is published, so it names no id and no content. If the hub did not refuse, the message of the error says
 * what does not fit.
 */
function reasonOf(error: RollcallError): string {
  const status = error instanceof HubError ? error.status : null;
  if (status === null && error.reaction === 'person') return error.message;
  return `it cannot be read: ${error.code}${status === null ? '' : ` (HTTP ${status})`}`;
}
