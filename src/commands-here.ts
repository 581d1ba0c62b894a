import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * A command in a text for people: the name of the program, if a verb, an option, or the `[options]` of a usage line
 * follows it. The default of `kafka.topicPrefix` is the same word, and may stand before any other word.
 */
const COMMAND =
  /(?<![\w./-])rollcall (?=(--[a-z]|\[options\]|(?:init|check|status|tail|topics|state|run|pull|plan|deletes|verify|republish|contract|hub|help)\b))/g;

/**
 * Rewrites the commands in a text for people, so that the reader can run them as they are. `config`: what `--config`
 * has named.
 */
export function commandsHere(text: string, config?: string): string {
  const path = config === undefined || /^[\w./-]+$/.test(config) ? config : JSON.stringify(config);
  const option = path === undefined ? '' : `--config ${path} `;
  return text.replaceAll(COMMAND, (_, verb: string) => `${program()} ${verb === 'help' ? '' : option}`);
}

/** `ROLLCALL_COMMAND` says how people outside a container reach the program in it, such as by `kubectl exec`. */
function program(): string {
  const { ROLLCALL_COMMAND = '' } = process.env;
  if (ROLLCALL_COMMAND !== '') return ROLLCALL_COMMAND;
  if (!import.meta.url.endsWith('.ts')) return 'rollcall';
  const path = relative(process.cwd(), fileURLToPath(new URL('../rollcall', import.meta.url)));
  return path.startsWith('.') ? path : `./${path}`;
}
