import { formatCount } from '../core/words.ts';
import type { PipelineEvent } from '../core/pipeline-events.ts';
import type { ProgressLine } from './progress-line.ts';

interface Running {
  readonly done: number;
  /** Null: unknown. */
  readonly of: number | null;
  /** The unit, if it is not rows. */
  readonly what?: string | undefined;
}

/** The progress of several collections, in a line: how many are done, and how far the others are. */
export class WorkProgress {
  readonly #line: ProgressLine;
  readonly #title: string;
  readonly #expected: number;
  readonly #running = new Map<string, Running>();
  readonly #ended = new Set<string>();
  #endedElsewhere = 0;

  /** `expected`: the number of collections. */
  constructor(line: ProgressLine, { title, expected }: { title: string; expected: number }) {
    this.#line = line;
    this.#title = title;
    this.#expected = expected;
  }

  set(name: string, running: Running): void {
    this.#running.set(name, running);
    this.#draw();
  }

  end(name: string): void {
    this.#running.delete(name);
    this.#ended.add(name);
    this.#draw();
  }

  /** How many another process has done. */
  endElsewhere(done: number): void {
    this.#endedElsewhere = done;
    this.#draw();
  }

  /** Takes the events of syncs, one sync for each collection. */
  note(event: PipelineEvent): void {
    if (event.type === 'sync-started') {
      this.set(event.collection, { done: 0, of: null });
    } else if (event.type === 'sync-page') {
      const { rowsSeen, mode, totalAtStart } = event.stats;
      this.set(event.collection, { done: rowsSeen, of: mode === 'FULL' ? totalAtStart : null });
    } else if (event.type === 'sync-ended' || event.type === 'sync-failed' || event.type === 'not-offered') {
      this.end(event.collection);
    }
  }

  #draw(): void {
    const ended = Math.max(this.#ended.size, this.#endedElsewhere);
    const running = [...this.#running].map(([name, each]) => `${name} ${textOf(each)}`);
    this.#line.update([`${this.#title}: ${ended} of ${this.#expected}`, ...running].join(' · '));
  }
}

function textOf({ done, of, what }: Running): string {
  const unit = what === undefined ? '' : ` ${what}`;
  if (of === null || of === 0) return done === 0 ? (what ?? '…') : `${formatCount(done)}${unit}`;
  const share = Math.min(1, done / of);
  return `${formatCount(done)} of ${formatCount(of)}${unit}, ${Math.floor(share * 100)} %`;
}
