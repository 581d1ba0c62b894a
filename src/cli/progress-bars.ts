import { formatCount, formatDuration } from '../core/words.ts';
import type { PipelineEvent } from '../pipeline/pipeline-events.ts';
import type { ProgressLine } from './progress-line.ts';

const WIDTH = 24;
/** More would not fit a small terminal; the others are counted. */
const MOST_BARS = 8;
/** Before both an estimate is a guess. */
const LEAST_MS = 2_000;
const LEAST_SHARE = 0.02;

interface Part {
  readonly done: number;
  /** Null: unknown. */
  readonly of: number | null;
  /** The unit, if it is not rows. */
  readonly what?: string | undefined;
  readonly startedMs: number;
}

/**
 * The progress of work in several parts, mostly collections: how many are done and about how long the others take, and
 * a bar for each that is under way. Without a terminal the same is one plain line.
 */
export class ProgressBars {
  readonly #line: ProgressLine;
  readonly #title: string;
  readonly #expected: number;
  readonly #nowMs: () => number;
  readonly #startedMs: number;
  readonly #running = new Map<string, Part>();
  readonly #ended = new Set<string>();
  #endedElsewhere = 0;

  /** `expected`: the number of parts. `nowMs`: a monotonic clock. */
  constructor(
    line: ProgressLine,
    options: { title: string; expected: number; nowMs?: (() => number) | undefined },
  ) {
    this.#line = line;
    this.#title = options.title;
    this.#expected = options.expected;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#startedMs = this.#nowMs();
  }

  set(name: string, { done, of, what }: Pick<Part, 'done' | 'of' | 'what'>): void {
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

  /** How many parts another process has done. */
  endElsewhere(done: number, current?: string): void {
    this.#endedElsewhere = done;
    this.#running.clear();
    if (current === undefined) this.#draw();
    else this.set(current, { done: 0, of: null });
  }

  /** Takes the events of syncs, one sync for each collection. */
  note(event: PipelineEvent): void {
    if (event.type === 'pass-started') {
      this.set(event.collection, { done: 0, of: null });
    } else if (event.type === 'pass-page') {
      const { rowsSeen, mode, totalAtStart } = event.stats;
      this.set(event.collection, { done: rowsSeen, of: mode === 'FULL' ? totalAtStart : null });
    } else if (event.type === 'pass-ended' || event.type === 'pass-failed' || event.type === 'not-offered') {
      this.end(event.collection);
    }
  }

  #draw(): void {
    const running = [...this.#running];
    const shown = running.slice(0, MOST_BARS);
    const widest = Math.max(0, ...shown.map(([name]) => name.length));
    const ended = Math.max(this.#ended.size, this.#endedElsewhere);
    const share = (ended + running.reduce((sum, [, part]) => sum + (shareOf(part) ?? 0), 0)) / this.#expected;
    const leftMs = [
      this.#leftMs(share, this.#startedMs),
      ...running.map(([, part]) => this.#leftMs(shareOf(part), part.startedMs)),
    ];
    // A part of unknown size may take longer than all others together.
    const isKnown = running.every(([, part]) => shareOf(part) !== null);
    const counted = `${ended} of ${this.#expected}${isKnown ? leftText(Math.max(...leftMs), ', about ') : ''}`;
    const more = running.length - shown.length;
    this.#line.update(
      [`${this.#title}: ${counted}`, ...running.map(([name, part]) => `${name} ${this.#textOf(part)}`)].join(
        ' · ',
      ),
      [
        `${this.#title}  ${barOf(share)}  ${counted}`,
        ...shown.map(([name, part]) => {
          const partShare = shareOf(part);
          const bar = partShare === null ? ' '.repeat(WIDTH) : barOf(partShare);
          return `  ${name.padEnd(widest)}  ${bar}  ${this.#textOf(part)}`;
        }),
        ...(more > 0 ? [`  and ${more} more`] : []),
      ],
    );
  }

  #textOf(part: Part): string {
    const share = shareOf(part);
    const count = formatCount(part.done);
    const what = part.what === undefined ? '' : ` ${part.what}`;
    if (share === null) return part.done === 0 ? (part.what ?? '…') : `${count}${what}`;
    const percent = `${Math.floor(share * 100)} %`;
    return `${count} of ${formatCount(part.of ?? 0)}${what}, ${percent}${leftText(this.#leftMs(share, part.startedMs), ', ')}`;
  }

  /** Remaining time, ms; 0 while it cannot be estimated. */
  #leftMs(share: number | null, startedMs: number): number {
    const elapsedMs = this.#nowMs() - startedMs;
    if (share === null || elapsedMs < LEAST_MS || share < LEAST_SHARE || share >= 1) return 0;
    return Math.max(1_000, (elapsedMs * (1 - share)) / share);
  }
}

function leftText(leftMs: number, before: string): string {
  return leftMs === 0 ? '' : `${before}${formatDuration(leftMs)} left`;
}

/** Null while the size is unknown. */
function shareOf({ done, of }: Part): number | null {
  return of === null || of === 0 ? null : Math.min(1, done / of);
}

function barOf(share: number): string {
  const full = Math.floor(Math.min(1, share) * WIDTH);
  return '█'.repeat(full) + '░'.repeat(WIDTH - full);
}
