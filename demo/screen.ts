import picocolors from 'picocolors';

export type Colors = ReturnType<typeof picocolors.createColors>;

/** The output of the demo: plain lines, coloured on a terminal. */
export interface Screen {
  readonly colors: Colors;
  /** Prints a line of the demo itself. */
  readonly print: (line: string) => void;
  /** Prints a line about an event, with the time. */
  readonly happened: (line: string) => void;
}

export function createScreen(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Screen {
  const colors = picocolors.createColors(stream.isTTY && (env['NO_COLOR'] ?? '') === '');
  return {
    colors,
    print: (line) => stream.write(`${line}\n`),
    happened: (line) => stream.write(`${colors.dim(new Date().toTimeString().slice(0, 8))} ${line}\n`),
  };
}

export function count(number: number): string {
  return number.toLocaleString('en-GB');
}
