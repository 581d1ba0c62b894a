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
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return misused(error instanceof Error ? error.message : String(error));
  }
}

/** Ends the program because of a wrong option. */
export function misused(message: string): never {
  process.stderr.write(`${message}\n→ --help shows the options.\n`);
  process.exit(2);
}
