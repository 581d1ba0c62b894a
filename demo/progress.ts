import type { PipelineEvent } from '../src/pipeline/events.ts';
import { count, type Screen } from './screen.ts';

interface Standing {
  rows: number;
  completeAtMs: number | null;
}

/** The progress of each collection, from the events of the publisher. */
export class Progress {
  readonly #standings = new Map<string, Standing>();

  constructor(collections: readonly string[]) {
    for (const name of collections) this.#standings.set(name, { rows: 0, completeAtMs: null });
  }

  /** Every collection has been read in full once. */
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

  /** Shows the collections that are still being loaded; nothing once all are. */
  show({ say, colors }: Screen): void {
    const standings = [...this.#standings];
    const reading = standings.filter(([, { completeAtMs }]) => completeAtMs === null);
    if (reading.length === 0) return;
    const done = standings.length - reading.length;
    const rows = reading.map(([name, standing]) => `${name} ${colors.yellow(`${count(standing.rows)} …`)}`);
    say(
      `${colors.dim(`── ${done} of ${standings.length} collections are loaded; still loading:`)} ${rows.join(colors.dim(' · '))}`,
    );
  }
}
