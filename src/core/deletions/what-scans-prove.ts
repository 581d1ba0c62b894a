import {
  explainShort,
  verdictOn,
  MISSES_NEEDED,
  type ScanEvidence,
  type ScopeVerdict,
  type Shortfall,
} from './evidence.ts';

/** Whether a full sync is complete. */
export interface SyncVerdict {
  /** Why the sync is not complete; null: it is complete. */
  readonly whyInconclusive: string | null;
  readonly short: Shortfall | null;
}

/**
 * What the scans of a full sync prove, all together, about the rows that they did not bring. `scopes`: all scopes that
 * exist now, including those that the sync has not read. `scopeOf`: the scope of a key.
 */
export function verdictsOn(
  scans: readonly ScanEvidence[],
  scopes: ReadonlySet<string>,
  scopeOf: (key: string) => string,
) {
  const byScope = new Map(scans.map((scan) => [scan.scope, verdictOn(scan)]));
  const all = [...byScope.values()];
  return {
    /** Whether the sync counts for a key, because the scope of the key is complete, or does not exist any more. */
    countsFor: (key: string): boolean => {
      const scope = scopeOf(key);
      const verdict = byScope.get(scope);
      return verdict === undefined ? !scopes.has(scope) : verdict.kind === 'complete';
    },

    isShort: (key: string): boolean => byScope.get(scopeOf(key))?.kind === 'short',

    missesNeeded: (key: string): number => {
      const verdict = byScope.get(scopeOf(key));
      return verdict?.kind === 'complete' ? verdict.missesNeeded : MISSES_NEEDED;
    },

    /** Whether the scans say nothing about the rows of some scope. */
    hasDoubt: all.some(({ kind }) => kind === 'nameless' || kind === 'inconclusive'),

    /**
     * Whether the sync is complete. A short sync is complete if, after it, at least as many rows are published as the hub
     * counts. Unread parents do not make a sync inconclusive, unless no parent could be read: a parent that the hub does
     * not find has no rows to copy, and a parent that the hub refuses is a reject. `unseen`: published keys that the sync
     * did not find. `known`: the number of published rows before the sync.
     */
    ofSync({ unseen, known }: { readonly unseen: readonly string[]; readonly known: number }): SyncVerdict {
      const doubts = all.flatMap((verdict) => (verdict.kind === 'inconclusive' ? [verdict] : []));
      const isAllUnread =
        known > 0 && doubts.length === all.length && doubts.every(({ isUnread }) => isUnread);
      const doubt = doubts.find(({ isUnread }) => !isUnread || isAllUnread);
      const shorts = [...byScope].flatMap(([scope, verdict]) =>
        verdict.kind === 'short' ? [{ scope, ...verdict }] : [],
      );
      if (shorts.length === 0) return { whyInconclusive: doubt?.why ?? null, short: null };
      const sum = (of: keyof Shortfall): number =>
        shorts.reduce((before, { shortfall }) => before + shortfall[of], 0);
      const short = { rows: sum('rows'), total: sum('total'), repeated: sum('repeated') };
      const isCovered = shorts.every(({ scope, shortfall, isComposed }) => {
        const onlyPublished = isComposed ? 0 : unseen.filter((key) => scopeOf(key) === scope).length;
        return shortfall.rows + onlyPublished >= shortfall.total;
      });
      const why = isCovered ? null : explainShort(short);
      return { whyInconclusive: doubt?.why ?? why, short };
    },

    /**
     * Whether the sync may settle missing rows: a scope was read to its end, or there was none to read. If the list of
     * missing rows was lost, only a sync that read every scope in full can make it again.
     */
    maySettle(isListLost: boolean): boolean {
      const isWhole = (verdict: ScopeVerdict): boolean =>
        verdict.kind === 'complete' || (verdict.kind === 'inconclusive' && verdict.isUnread);
      if (isListLost && !all.every(isWhole)) return false;
      // If there is no scope to read, all missing rows belong to scopes that do not exist any more.
      return all.length === 0 || all.some(({ kind }) => kind === 'complete' || kind === 'short');
    },
  };
}

export type Verdicts = ReturnType<typeof verdictsOn>;
