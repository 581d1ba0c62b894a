import { setTimeout as delay } from 'node:timers/promises';
import type { Child } from './child-process.ts';
import type { FloorRound } from './floor-process.ts';
import type { SyncRequest, SyncRound } from './log-process.ts';

export async function oneSync(publisher: Child, request: SyncRequest): Promise<SyncRound> {
  return publisher.call<SyncRound>('sync', request);
}

/** Throws if a sync finds a change. */
export async function unchangedSync(publisher: Child, request: SyncRequest): Promise<SyncRound> {
  const round = await oneSync(publisher, request);
  if (round.rowsUnchanged !== round.rowsSeen) {
    throw new Error(`${round.rowsSeen - round.rowsUnchanged} rows changed that should not have`);
  }
  const derived = round.changesPublished + round.absencesShown;
  if (derived > 0) throw new Error(`${derived} records were derived from rows that did not change`);
  return round;
}

/** Records of all topics except `progress`; NaN without a sync. */
export function recordsOf(round: SyncRound | undefined): number {
  if (round === undefined) return Number.NaN;
  const { rowsCreated, rowsUpdated, changesPublished, absencesShown } = round;
  return rowsCreated + rowsUpdated + changesPublished + absencesShown;
}

/** CPU a row, times that of a plain download with `JSON.parse`. `rows`: those that count, all that were seen unless given. */
export function timesFloor(
  { cpuMicros, rowsSeen }: SyncRound,
  { fetchAndParse }: FloorRound,
  rows = rowsSeen,
): number {
  return cpuMicros / rows / fetchAndParse;
}

export function perSecond({ rowsSeen, wallMs }: SyncRound): number {
  return rowsSeen / (wallMs / 1_000);
}

/** HTTP dates have seconds only: an incremental sync includes rows modified in the second in which the previous sync began. */
export async function nextHubSecond(): Promise<void> {
  await delay(1_100);
}
