import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** `rollcall run` by such a clock, for `startScript`; its argument is the clock's file. */
export const CLOCK_MAIN = new URL('clock-main.ts', import.meta.url);

/** The clock of a machine, for the processes that look at its file. */
export interface MachineClock extends AsyncDisposable {
  readonly file: string;
  /** ms by which it is off */
  jumpTo(offsetMs: number): Promise<void>;
}

export async function machineClock(offsetMs = 0): Promise<MachineClock> {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-clock-'));
  const file = join(directory, 'offset');
  const jumpTo = async (toMs: number): Promise<void> => {
    // In one step: it is read at any time.
    await writeFile(`${file}.new`, String(toMs));
    await rename(`${file}.new`, file);
  };
  await jumpTo(offsetMs);
  return { file, jumpTo, [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) };
}
