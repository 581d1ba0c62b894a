import { fileURLToPath } from 'node:url';
import { configFile } from '../../integration/support/running.ts';

/** The script that runs `rollcall run` with such a clock, for `TroubledTenant.start`; its argument is the file of the clock. */
export const CLOCK_MAIN = fileURLToPath(new URL('clock-main.ts', import.meta.url));

/** The clock of a machine, for the processes that read its file. */
export function machineClock(offsetMs = 0) {
  const { path, write, remove } = configFile(String(offsetMs));
  return {
    file: path,
    /** Sets the offset of the clock, ms. The file changes in one step because it may be read at any time. */
    jumpTo: (toMs: number): void => write(String(toMs)),
    [Symbol.dispose]: remove,
  };
}
