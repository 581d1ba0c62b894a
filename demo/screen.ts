import picocolors from 'picocolors';

/** How long nothing may be printed before the screen says what the program is doing. */
const SILENT_MS = 7_000;

export type Colors = ReturnType<typeof picocolors.createColors>;

/** The output of the demo: plain lines, coloured on a terminal. */
export interface Screen {
  readonly colors: Colors;
  /** Prints a line of the demo itself. */
  readonly print: (line: string) => void;
  /** Prints a line about an event, with the time. */
  readonly happened: (line: string) => void;
  /**
   * Tells what the program does from now on. Whenever nothing was printed for some seconds, a line says so, with how long
   * the program has been doing it: `… starting the services (12 s)`. Null: it does nothing that anyone waits for.
   */
  readonly doing: (what: (() => string) | null) => void;
  /** Says so now, if nothing was printed for some seconds: for work that leaves no time to timers. */
  readonly stillDoing: () => void;
}

export function createScreen(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Screen {
  const colors = picocolors.createColors(stream.isTTY && (env['NO_COLOR'] ?? '') === '');
  let what: (() => string) | null = null;
  let sinceMs = 0;
  let printedAtMs = 0;
  const print = (line: string): void => {
    printedAtMs = performance.now();
    stream.write(`${line}\n`);
  };
  const stillDoing = (): void => {
    const nowMs = performance.now();
    if (what === null || nowMs - printedAtMs < SILENT_MS) return;
    print(colors.dim(`   … ${what()} (${Math.round((nowMs - sinceMs) / 1_000)} s)`));
  };
  setInterval(stillDoing, 1_000).unref();
  return {
    colors,
    print,
    happened: (line) => print(`${colors.dim(new Date().toTimeString().slice(0, 8))} ${line}`),
    doing(next) {
      what = next;
      sinceMs = performance.now();
    },
    stillDoing,
  };
}

export function count(number: number): string {
  return number.toLocaleString('en-GB');
}
