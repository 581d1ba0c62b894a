import { RollcallError } from '../errors.ts';
import type { FillProblem } from './variables.ts';

export type KeyPath = readonly (string | number)[];

/** A problem of a configuration. It never contains a value, which may be a secret. */
export interface Problem extends FillProblem {
  readonly path: KeyPath;
  /** Counts from 1; null if unknown. */
  readonly line: number | null;
  /** The key must not be there: no value can correct it. */
  readonly isOfKey?: true | undefined;
}

/** What to do without a configuration, or with an empty one. */
export const BEGIN_REMEDY =
  '"rollcall init" writes a configuration to fill in, with a comment for each setting.';

const VARIABLES_REMEDY =
  'Set each variable before the command, for example with "export NAME=value", or name a file that holds the value: ${file:/path}.';

const USUAL_REMEDY = 'Correct the configuration; "rollcall help configuration" explains every key.';

const MAX_SHOWN = 50;
const PLAIN_KEY = /^[A-Za-z_][\w-]*$/;

/** Formats a path as `tenants[0].hub.baseUrl`, and the empty path as `the configuration`. */
export function formatPath(path: KeyPath): string {
  const text = path
    .map((part) => {
      if (typeof part === 'number') return `[${part}]`;
      return PLAIN_KEY.test(part) ? `.${part}` : `[${JSON.stringify(part.slice(0, 60))}]`;
    })
    .join('')
    .replace(/^\./, '');
  return text === '' ? 'the configuration' : text;
}

/** Returns one error with all problems, in the order of the file. `value`: of the whole file. */
export function problemsError(file: string, problems: readonly Problem[], value: unknown): RollcallError {
  const sorted = [...problems].sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
  const lines = sorted.slice(0, MAX_SHOWN).map(formatProblem);
  if (sorted.length > MAX_SHOWN) lines.push(`and ${sorted.length - MAX_SHOWN} more`);
  const message =
    lines.length === 1
      ? `${file}: ${lines[0] ?? ''}`
      : `${file} has ${sorted.length} problems:\n${lines.map((line) => `  ${line}`).join('\n')}`;
  return new RollcallError('CONFIG_INVALID', message, { remedy: remedyFor(problems, value) });
}

function remedyFor(problems: readonly Problem[], value: unknown): string {
  if (value === null) return BEGIN_REMEDY;
  return problems.every(({ needs }) => needs?.kind === 'environment variable')
    ? VARIABLES_REMEDY
    : USUAL_REMEDY;
}

function formatProblem(problem: Problem): string {
  const place = problem.line === null ? '' : `line ${problem.line}: `;
  return `${place}${formatPath(problem.path)} ${problem.message}`;
}

/** A problem between keys. */
export type Finding = Pick<Problem, 'path' | 'message' | 'isOfKey'>;

/** Returns a map of the file; an empty map for anything else, which the schema reports. */
export function mapOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}

/** Whether a switch is off in the file: it is left out, or false, or a filled-in variable gives the text `false`. */
export function isOff(value: unknown): boolean {
  return value === undefined || value === false || value === 'false';
}

/** Returns a list of the file; an empty list for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
