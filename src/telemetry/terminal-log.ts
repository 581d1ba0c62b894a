import picocolors from 'picocolors';
import { commandsHere } from '../commands-here.ts';
import { jsonOrNull } from '../core/json-or-null.ts';
import { printable } from '../core/words.ts';

type Fields = Readonly<Record<string, unknown>>;

const MARKS: Readonly<Record<string, { mark: string; color: 'yellow' | 'red' | 'dim' }>> = {
  warn: { mark: '! ', color: 'yellow' },
  error: { mark: '✗ ', color: 'red' },
  fatal: { mark: '✗ ', color: 'red' },
  debug: { mark: '', color: 'dim' },
  trace: { mark: '', color: 'dim' },
};
/** Fields that have a place of their own in a line, or that only a program needs. */
const PLACED = new Set('level time msg tenant collection error err owner syncId startedAtMs'.split(' '));
const COLLECTION_WIDTH = 22;

/** A line of the log (JSON) as people read it on a terminal: time, tenant, collection, message, and each field with a value. */
export function readableLine(json: string, colors = picocolors.createColors(false)): string {
  const fields = jsonOrNull(json) as Fields | null;
  if (fields === null) return json;
  const { time, tenant, collection = '', msg = '', level, error = fields['err'] } = fields;
  const place =
    tenant === undefined ? '' : `${textOf(tenant)}  ${textOf(collection).padEnd(COLLECTION_WIDTH)}`;
  const details = Object.entries(fields)
    .filter(([name, value]) => !PLACED.has(name) && value !== null && value !== 0)
    .map(([name, value]) => `${name} ${textOf(value)}`);
  const sentence = [textOf(msg), ...details].join(' · ');
  const style = MARKS[String(level)];
  const said = style === undefined ? sentence : colors[style.color](`${style.mark}${sentence}`);
  const { remedy } = (error ?? {}) as { remedy?: unknown };
  const todo =
    remedy === undefined ? '' : `\n${' '.repeat(10)}${colors.cyan('→')} ${commandsHere(textOf(remedy))}`;
  return `${colors.dim(new Date(String(time)).toTimeString().slice(0, 8))}  ${place}${said}${todo}\n`;
}

function textOf(value: unknown): string {
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}
