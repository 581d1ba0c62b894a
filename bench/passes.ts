import { setTimeout as delay } from 'node:timers/promises';
import type { Child } from './child-process.ts';
import type { PassRequest, PassRound } from './log-process.ts';

export async function onePass(publisher: Child, request: PassRequest): Promise<PassRound> {
  return publisher.call<PassRound>('pass', request);
}

/** Throws if a sync finds a change. */
export async function unchangedPass(publisher: Child, request: PassRequest): Promise<PassRound> {
  const round = await onePass(publisher, request);
  if (round.rowsUnchanged !== round.rowsSeen) {
    throw new Error(`${round.rowsSeen - round.rowsUnchanged} rows changed that should not have`);
  }
  const told = round.changesTold + round.absencesShown;
  if (told > 0) throw new Error(`${told} records followed from rows that did not change`);
  return round;
}

export function perSecond({ rowsSeen, wallMs }: PassRound): number {
  return rowsSeen / (wallMs / 1_000);
}

/** HTTP dates are whole seconds: an incremental sync includes rows stamped in the second in which the sync before began. */
export async function nextHubSecond(): Promise<void> {
  await delay(1_100);
}
