import { readFileSync } from 'node:fs';
import { parseArgs, type ParseArgsConfig } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<T extends Options> = ReturnType<typeof parseArgs<{ options: T }>>['values'];

/** Reads the options of the program in `file`. With --help, prints the comment at the head of that file, and ends. */
export function readOptions<T extends Options>(file: string, options: T): Values<T> {
  if (process.argv.includes('--help')) {
    const [, head = ''] = /^\/\*\*\n(.*?)^ \*\/$/ms.exec(readFileSync(file, 'utf8')) ?? [];
    process.stdout.write(head.replaceAll(/^ \* ?/gm, ''));
    process.exit(0);
  }
  return checked(() => parseArgs({ options }).values);
}

/** Reads an option; if that throws, its value is wrong, and the program ends. */
export function checked<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    return misused(error instanceof Error ? error.message : String(error));
  }
}

/** The duration of an option such as `--for 60s`; null where it is left out. */
export function durationMs(option: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const [, number, unit] = /^(\d{1,6})(s|m)$/.exec(text) ?? [];
  if (number === undefined) return misused(`${option} takes a duration such as 60s or 2m, not ${text}`);
  return Number(number) * (unit === 'm' ? 60_000 : 1_000);
}

export function wholeNumber(option: string, text: string): number {
  return /^\d{1,7}$/.test(text) ? Number(text) : misused(`${option} takes a whole number, not ${text}`);
}

/** Ends the program because of a wrong option. */
export function misused(message: string): never {
  process.stderr.write(`${message}\n→ --help shows the options.\n`);
  process.exit(2);
}
