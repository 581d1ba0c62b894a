import picocolors from 'picocolors';
import { countOf, formatCount, printable } from '../core/words.ts';

type Fields = Readonly<Record<string, unknown>>;

const MARKS: Readonly<Record<string, { mark: string; color: 'yellow' | 'red' | 'dim' }>> = {
  warn: { mark: '! ', color: 'yellow' },
  error: { mark: '✗ ', color: 'red' },
  fatal: { mark: '✗ ', color: 'red' },
  debug: { mark: '', color: 'dim' },
  trace: { mark: '', color: 'dim' },
};
/** Fields that have a place of their own in a line, or that only a program needs. */
const PLACED = new Set(['level', 'time', 'msg', 'tenant', 'collection', 'error', 'err', 'owner']);
const COLLECTION_WIDTH = 22;
const INDEX_IS_READY = 'the index equals the log';

/**
 * A line of the log (JSON) as people read it on a terminal: time, tenant, collection, what happened. Empty for a
 * collection whose index needs nothing at a start: there is one such line for each.
 */
export function readableLine(json: string, colors = picocolors.createColors(false)): string {
  const fields = parsed(json);
  if (fields === null) return json;
  if (fields['msg'] === INDEX_IS_READY && (fields['how'] === 'current' || fields['rows'] === 0)) return '';
  const time = new Date(String(fields['time'])).toTimeString().slice(0, 8);
  const tenant = textOf(fields['tenant'], '');
  const collection = textOf(fields['collection'], '');
  const place = tenant === '' ? '' : `${tenant}  ${collection.padEnd(COLLECTION_WIDTH)}`;
  const style = MARKS[String(fields['level'])];
  const said =
    style === undefined ? sentenceOf(fields) : colors[style.color](`${style.mark}${sentenceOf(fields)}`);
  const remedy = remedyOf(fields);
  const todo = remedy === null ? '' : `\n${' '.repeat(10)}${colors.cyan('→')} ${remedy}`;
  return `${colors.dim(time)}  ${place}${said}${todo}\n`;
}

function parsed(json: string): Fields | null {
  try {
    return JSON.parse(json) as Fields;
  } catch {
    return null;
  }
}

function sentenceOf(fields: Fields): string {
  const message = textOf(fields['msg'], '');
  switch (message) {
    case 'a sync ended':
      return syncSentence(fields);
    case INDEX_IS_READY:
      return `${countOf(numberOf(fields, 'rows'), 'row')} in the index (${textOf(fields['why'], '') || textOf(fields['how'], '')})`;
    case 'probes and metrics are served':
      return `status page: http://${textOf(fields['host'], '')}:${textOf(fields['port'], '')}/`;
    default: {
      const details = Object.entries(fields).flatMap(([name, value]) =>
        PLACED.has(name) || value === null || typeof value === 'object'
          ? []
          : [`${name} ${textOf(value, '')}`],
      );
      return [message, ...details].join(' · ');
    }
  }
}

const COUNTS = [
  ['rowsCreated', 'new'],
  ['rowsUpdated', 'changed'],
  ['rowsRemoved', 'removed'],
  ['rowsRejected', 'rejected'],
  ['rowsWithheld', 'withheld'],
] as const;

/** The derived events of absences: `absences 3 created, 1 deleted`. */
const EVENTS = ['created', 'replaced', 'deleted', 'restored'].map((name) => [name, name] as const);

/** `full sync: 7,501 rows read, 12 new, 1 removed (2.3 s)`. */
function syncSentence(fields: Fields): string {
  const mode = fields['mode'] === 'FULL' ? 'full sync' : 'incremental sync';
  const outcome = fields['outcome'] === 'complete' ? '' : ` ${textOf(fields['outcome'], '')}`;
  const why = textOf(fields['why'], '');
  const events = countsIn((fields['absences'] ?? {}) as Fields, EVENTS).join(', ');
  const changes = [...countsIn(fields, COUNTS), ...(events === '' ? [] : [`absences ${events}`])];
  const read = `${countOf(numberOf(fields, 'rowsSeen'), 'row')} read`;
  const seconds = (numberOf(fields, 'durationMs') / 1000).toFixed(1);
  const all = [read, ...(changes.length === 0 ? ['no change'] : changes)].join(', ');
  return `${mode}${outcome}${why === '' ? '' : ` (${why})`}: ${all} (${seconds} s)`;
}

function countsIn(fields: Fields, words: readonly (readonly [field: string, word: string])[]): string[] {
  const counted = words.filter(([field]) => numberOf(fields, field) > 0);
  return counted.map(([field, word]) => `${formatCount(numberOf(fields, field))} ${word}`);
}

function remedyOf({ error, err }: Fields): string | null {
  const { remedy } = ((error ?? err) as { remedy?: unknown } | undefined) ?? {};
  return typeof remedy === 'string' ? printable(remedy) : null;
}

function numberOf(fields: Fields, name: string): number {
  const value = fields[name];
  return typeof value === 'number' ? value : 0;
}

function textOf(value: unknown, otherwise: string): string {
  return typeof value === 'string' || typeof value === 'number' ? printable(String(value)) : otherwise;
}
