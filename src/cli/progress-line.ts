import { stripVTControlCharacters } from 'node:util';
import type { PipelineEvent } from '../core/pipeline-events.ts';
import { formatCount } from '../core/words.ts';

/** The stream of a progress line: `process.stderr`, or a fake in tests. */
export interface ProgressStream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

export interface ProgressLine {
  /** Shows progress: redrawn in place on a terminal, otherwise a line every few seconds. */
  update(text: string): void;
  /** Writes a line that stays, above the progress. */
  print(line: string): void;
  /** Erases the progress, and writes a last line if there is one. */
  end(line?: string): void;
}

const REDRAW_EVERY_MS = 100;
const ERASE_LINE = '\r\u001B[2K';

/** A progress line. `nowMs` is a monotonic clock. */
export function createProgressLine(options: {
  stream: ProgressStream;
  nowMs: () => number;
  /** Least time between two plain lines without a terminal, ms. */
  plainEveryMs?: number | undefined;
}): ProgressLine {
  const { stream, nowMs, plainEveryMs = 5000 } = options;
  const isTty = stream.isTTY === true;
  const erase = isTty ? ERASE_LINE : '';
  let shown = '';
  let lastMs = Number.NEGATIVE_INFINITY;
  return {
    update(text) {
      if (nowMs() - lastMs < (isTty ? REDRAW_EVERY_MS : plainEveryMs)) return;
      lastMs = nowMs();
      shown = isTty ? fit(text, stream.columns) : '';
      stream.write(isTty ? erase + shown : `${text}\n`);
    },
    print(line) {
      stream.write(`${erase}${line}\n${shown}`);
    },
    end(line) {
      stream.write(`${erase}${line === undefined ? '' : `${line}\n`}`);
      shown = '';
    },
  };
}

/** Shortens a line: one longer than the terminal would wrap, and could not be erased. */
function fit(text: string, columns: number | undefined): string {
  const width = (columns ?? 80) - 1;
  const plain = stripVTControlCharacters(text);
  return plain.length <= width ? text : `${plain.slice(0, Math.max(0, width - 1))}…`;
}

/** Shows how far a sync is. */
export function showSyncs(progress: ProgressLine, event: PipelineEvent): void {
  if (event.type !== 'sync-page') return;
  const { rowsSeen, mode, totalAtStart } = event.stats;
  const of = mode === 'FULL' && totalAtStart !== null ? ` of ${formatCount(totalAtStart)}` : '';
  progress.update(`${event.collection}: ${formatCount(rowsSeen)}${of} rows`);
}
