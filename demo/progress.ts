import type { PipelineEvent } from '../src/pipeline/events.ts';
import { count, type Screen } from './screen.ts';

interface Standing {
  rows: number;
  total: number | null;
  completeAtMs: number | null;
}

/** How far each collection is, as the publisher tells it. */
export class Progress {
  readonly #standings = new Map<string, Standing>();
  #published = 0;

  constructor(collections: readonly string[]) {
    for (const name of collections) this.#standings.set(name, { rows: 0, total: null, completeAtMs: null });
  }

  get published(): number {
    return this.#published;
  }

  /** Every collection has been read whole once. */
  get isComplete(): boolean {
    return [...this.#standings.values()].every(({ completeAtMs }) => completeAtMs !== null);
  }

  note(event: PipelineEvent): void {
    if (event.type === 'committed') this.#published += event.records;
    if (event.type !== 'pass-page' && event.type !== 'pass-ended') return;
    const standing = this.#standings.get(event.collection);
    if (standing === undefined) return;
    if (event.type === 'pass-ended') {
      standing.rows = event.rows;
      standing.total = null;
      if (event.outcome === 'complete') standing.completeAtMs = performance.now();
    } else if (event.stats.mode === 'FULL' && standing.completeAtMs === null) {
      standing.rows = event.stats.rowsSeen;
      standing.total = event.stats.totalAtStart;
    }
  }

  show({ say, colors }: Screen): void {
    const standings = [...this.#standings];
    const complete = standings.filter(([, { completeAtMs }]) => completeAtMs !== null);
    const parts = standings.map(([name, { rows, completeAtMs }]) => {
      const text = `${name} ${count(rows)}`;
      return completeAtMs === null ? colors.yellow(`${text} …`) : `${text} ${colors.green('✓')}`;
    });
    say(
      colors.dim(`── ${complete.length} of ${standings.length} collections complete: `) +
        parts.join(colors.dim(' · ')),
    );
  }
}
