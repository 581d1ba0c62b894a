import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The script that runs `rollcall run` with such a clock, for `startScript`; its argument is the file of the clock. */
export const CLOCK_MAIN = new URL('clock-main.ts', import.meta.url);

/** The clock of a machine, for the processes that read its file. */
export interface MachineClock extends AsyncDisposable {
  readonly file: string;
  /** The offset of the clock, ms. */
  jumpTo(offsetMs: number): Promise<void>;
}

export async function machineClock(offsetMs = 0): Promise<MachineClock> {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-clock-'));
  const file = join(directory, 'offset');
  const jumpTo = async (toMs: number): Promise<void> => {
    // The file changes in one step because it may be read at any time.
    await writeFile(`${file}.new`, String(toMs));
    await rename(`${file}.new`, file);
  };
  await jumpTo(offsetMs);
  return { file, jumpTo, [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) };
}
