import { setImmediate as nextTurn } from 'node:timers/promises';

/** Lets the event loop go round so often, so that all goes on that waits for no time. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn();
}
