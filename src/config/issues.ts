import type { z } from 'zod';
import { didYouMean } from '../core/did-you-mean.ts';
import type { KeyPath, Problem } from './problem.ts';
import { keysAt, mechanismsWith, neededAt, type JsonSchema } from './shape.ts';

type Issue = z.core.$ZodIssue;

const EXPECTED: Readonly<Record<string, string>> = {
  object: 'must be a map of keys',
  record: 'must be a map of keys',
  array: 'must be a list',
  string: 'must be text',
};

const WANTS_NO_TEXT: ReadonlySet<string | undefined> = new Set([EXPECTED['array'], EXPECTED['object']]);

/**
 * Whether some value of a `${…}` would solve the problem. None does if the key is not allowed at all, or if its value
 * must be a list or a map.
 */
export function isSolvedByText({ isOfKey, message }: Pick<Problem, 'isOfKey' | 'message'>): boolean {
  return isOfKey !== true && !WANTS_NO_TEXT.has(message);
}

/** Returns the message of an issue that has none in the schema. It never contains the value, which may be a secret. */
export function describeIssue(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'invalid_type') return EXPECTED[issue.expected] ?? 'has the wrong type';
  if (issue.code === 'too_big') return 'is too long';
  if (issue.code !== 'invalid_value') return 'is not valid';
  return `must be one of ${issue.values.map(String).join(', ')}`;
}

/** Turns the schema's issues into problems with paths. */
export function problemsOf(
  issues: readonly Issue[],
  file: { value: unknown; lineOf: (path: KeyPath) => number | null; schema: JsonSchema },
): Problem[] {
  const { lineOf, schema } = file;
  return issues.flatMap(flatten).flatMap((issue): Problem[] => {
    const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
    const unknown = (at: KeyPath): Problem => ({
      path: at,
      message: whyUnknown(schema, at),
      line: lineOf(at),
      isOfKey: true,
    });
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknown([...path, key]));
    if (issue.code === 'invalid_key') return [unknown(path)];
    return [{ path, message: whyNoValue(file, path) ?? issue.message, line: lineOf(path) }];
  });
}

function whyUnknown(schema: JsonSchema, at: KeyPath): string {
  const mechanisms = mechanismsWith(schema, at);
  if (mechanisms.length > 0)
    return `belongs to the mechanism ${mechanisms.join(' or ')}, not to the one that is set`;
  return `is not a known key${didYouMean(String(at.at(-1)), keysAt(schema, at.slice(0, -1)))}`;
}

/** Returns the problem of a key without a value, which replaces the schema's message; null for a key with a value. */
function whyNoValue({ value, schema }: { value: unknown; schema: JsonSchema }, path: KeyPath): string | null {
  const found = path.reduce<unknown>(ownValue, value);
  if (path.length === 0 && (found === null || found === undefined)) return 'is empty';
  if (found === undefined) {
    const needed = neededAt(schema, path);
    return needed.length === 0 ? 'is missing' : `is missing; it needs ${needed.join(', ')}`;
  }
  return found === null ? 'has no value: set one, or remove the key' : null;
}

function ownValue(parent: unknown, key: string | number): unknown {
  if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, key)) return undefined;
  return (parent as Readonly<Record<string | number, unknown>>)[key];
}

/** Picks the branch of a union whose kind fits, and reports its inner issues. */
function flatten(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const meant = issue.errors.find((branch) => branch.every((inner) => !isOtherKind(inner)));
  if (meant === undefined) return [issue];
  return meant.flatMap((inner) => flatten({ ...inner, path: [...issue.path, ...inner.path] }));
}

function isOtherKind(issue: Issue): boolean {
  return issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value');
}
