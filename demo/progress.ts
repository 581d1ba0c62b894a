import type { PipelineEvent } from '../src/core/pipeline-events.ts';
import { count, type Colors } from './screen.ts';

/** With more names, the line would be too long for a terminal. */
const MOST_NAMED = 3;

interface Standing {
  rows: number;
  /** The hub's total at the start of the sync; null: unknown. */
  total: number | null;
  completeAtMs: number | null;
}

/** The progress of each collection, from the pipeline's events. */
export class Progress {
  readonly #standings = new Map<string, Standing>();

  constructor(collections: readonly string[]) {
    for (const name of collections) this.#standings.set(name, { rows: 0, total: null, completeAtMs: null });
  }

  /** Whether each collection has had a complete sync. */
  get isComplete(): boolean {
    return [...this.#standings.values()].every(({ completeAtMs }) => completeAtMs !== null);
  }

  /** For people: `17 collections, 27,045 rows`. */
  get summary(): string {
    const rows = [...this.#standings.values()].reduce((sum, standing) => sum + standing.rows, 0);
    return `${this.#standings.size} collections, ${count(rows)} rows`;
  }

  note(event: PipelineEvent): void {
    if (event.type !== 'sync-page' && event.type !== 'sync-ended') return;
    const standing = this.#standings.get(event.collection);
    if (standing === undefined) return;
    if (event.type === 'sync-ended') {
      standing.rows = event.rows;
      // An incremental sync that was under way ends before the full one begins.
      if (event.outcome === 'complete' && event.stats.mode === 'FULL')
        standing.completeAtMs ??= performance.now();
    } else if (event.stats.mode === 'FULL' && standing.completeAtMs === null) {
      standing.rows = event.stats.rowsSeen;
      standing.total = event.stats.totalAtStart;
    }
  }

  /** Starts over: every collection is read again. */
  beginAgain(): void {
    for (const standing of this.#standings.values()) {
      standing.rows = 0;
      standing.total = null;
      standing.completeAtMs = null;
    }
  }

  /** For people: how far the collections are that are not read yet. The largest are named. */
  describe(colors: Colors): string {
    const standings = [...this.#standings];
    const loading = standings.filter(([, { completeAtMs }]) => completeAtMs === null);
    if (loading.length === 0) return `all ${standings.length} collections are read`;
    const largest = loading.toSorted(([, a], [, b]) => sizeOf(b) - sizeOf(a)).slice(0, MOST_NAMED);
    const rows = largest.map(([name, { rows: read, total }]) => {
      const of = total === null ? '' : `/${count(total)}`;
      return `${name} ${colors.yellow(`${count(read)}${of}`)}`;
    });
    const others = loading.length - largest.length;
    const more = others === 0 ? '' : `, and ${others} more`;
    const done = `${standings.length - loading.length} of ${standings.length} collections are read; waiting for`;
    return `${done} ${rows.join(', ')}${more}`;
  }
}

function sizeOf({ rows, total }: Standing): number {
  return total ?? rows;
}
