import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import { MARKER } from './tenant-row.ts';

const SHORTEST_RETRY_MS = 400;
const LONGEST_RETRY_MS = 300_000;

/** Invariant 9: no part of a row, not even its id, gets into events or errors, and from there into logs and metrics. */
export function leakedMarkers(event: PipelineEvent): string[] {
  if (event.type === 'sync-page' || event.type === 'committed') return [];
  return textsIn(event, 0).some((text) => text.includes(MARKER))
    ? [`an event names a row: ${event.type}`]
    : [];
}

/** Invariant 10: a failed attempt is repeated after a while, neither at once nor after weeks. */
export function unboundedWaits(event: PipelineEvent): string[] {
  if (event.type !== 'session-failed' && event.type !== 'sync-failed') return [];
  const { retryInMs, type } = event;
  const isBounded = retryInMs === null || (retryInMs >= SHORTEST_RETRY_MS && retryInMs <= LONGEST_RETRY_MS);
  return isBounded ? [] : [`tried again in ${retryInMs} ms: ${type}`];
}

function textsIn(value: unknown, depth: number): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null || depth > 5) return [];
  const texts = value instanceof Error ? [value.message, value.stack ?? ''] : [];
  if (value instanceof Error) texts.push(...textsIn(value.cause, depth + 1));
  for (const [key, inner] of Object.entries(value)) {
    // Their texts name only partitions and transactions.
    if (key !== 'progress' && key !== 'stats') texts.push(key, ...textsIn(inner, depth + 1));
  }
  return texts;
}
