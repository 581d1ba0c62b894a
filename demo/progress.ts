import type { PipelineEvent } from '../src/pipeline/pipeline-events.ts';
import { count, type Screen } from './screen.ts';

interface Standing {
  rows: number;
  completeAtMs: number | null;
}

/** The progress of each collection, from the pipeline's events. */
export class Progress {
  readonly #standings = new Map<string, Standing>();

  constructor(collections: readonly string[]) {
    for (const name of collections) this.#standings.set(name, { rows: 0, completeAtMs: null });
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
    if (event.type !== 'pass-page' && event.type !== 'pass-ended') return;
    const standing = this.#standings.get(event.collection);
    if (standing === undefined) return;
    if (event.type === 'pass-ended') {
      standing.rows = event.rows;
      if (event.outcome === 'complete') standing.completeAtMs ??= performance.now();
    } else if (event.stats.mode === 'FULL' && standing.completeAtMs === null) {
      standing.rows = event.stats.rowsSeen;
    }
  }

  /** Shows the collections that are not loaded yet, if there are any. */
  show({ print, colors }: Screen): void {
    const standings = [...this.#standings];
    const loading = standings.filter(([, { completeAtMs }]) => completeAtMs === null);
    if (loading.length === 0) return;
    const done = standings.length - loading.length;
    const rows = loading.map(([name, standing]) => `${name} ${colors.yellow(`${count(standing.rows)} …`)}`);
    print(
      `${colors.dim(`── ${done} of ${standings.length} collections are loaded; still loading:`)} ${rows.join(colors.dim(' · '))}`,
    );
  }
}
