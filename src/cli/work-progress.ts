import { formatCount, formatDuration } from '../core/words.ts';
import type { PipelineEvent } from '../core/pipeline-events.ts';
import type { ProgressLine } from './progress-line.ts';

/** Before both, an estimate is a guess. */
const LEAST_MS = 2_000;
const LEAST_SHARE = 0.02;

interface Running {
  readonly done: number;
  /** Null: unknown. */
  readonly of: number | null;
  /** The unit, if it is not rows. */
  readonly what?: string | undefined;
}

/** The progress of several collections, in a line: how many are done, and how far the others are and for how long. */
export class WorkProgress {
  readonly #line: ProgressLine;
  readonly #title: string;
  readonly #expected: number;
  readonly #nowMs: () => number;
  readonly #running = new Map<string, Running & { readonly startedMs: number }>();
  readonly #ended = new Set<string>();
  #endedElsewhere = 0;

  /** `expected`: the number of collections. `nowMs`: a monotonic clock. */
  constructor(
    line: ProgressLine,
    options: { title: string; expected: number; nowMs?: (() => number) | undefined },
  ) {
    this.#line = line;
    this.#title = options.title;
    this.#expected = options.expected;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  set(name: string, { done, of, what }: Running): void {
    const before = this.#running.get(name);
    const startedMs = before?.what === what ? (before?.startedMs ?? this.#nowMs()) : this.#nowMs();
    this.#running.set(name, { done, of, what, startedMs });
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
    const running = [...this.#running].map(
      ([name, { startedMs, ...each }]) => `${name} ${textOf(each, this.#nowMs() - startedMs)}`,
    );
    this.#line.update([`${this.#title}: ${ended} of ${this.#expected}`, ...running].join(' · '));
  }
}

function textOf({ done, of, what }: Running, elapsedMs: number): string {
  const unit = what === undefined ? '' : ` ${what}`;
  if (of === null || of === 0) return done === 0 ? (what ?? '…') : `${formatCount(done)}${unit}`;
  const share = Math.min(1, done / of);
  const isKnown = elapsedMs >= LEAST_MS && share >= LEAST_SHARE && share < 1;
  const left = isKnown ? `, ${formatDuration(Math.max(1_000, (elapsedMs * (1 - share)) / share))} left` : '';
  return `${formatCount(done)} of ${formatCount(of)}${unit}, ${Math.floor(share * 100)} %${left}`;
}
