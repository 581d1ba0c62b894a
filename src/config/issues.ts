import type { z } from 'zod';
import type { KeyPath, Problem } from './problem.ts';
import { suggest } from './suggest.ts';

type Issue = z.core.$ZodIssue;

const EXPECTED: Readonly<Record<string, string>> = {
  object: 'must be a map of keys',
  record: 'must be a map of keys',
  array: 'must be a list',
  string: 'must be text',
};

/** Returns the message of an issue that has none in the schema. It never contains the value, which may be a secret. */
export function describeIssue(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'invalid_type') return EXPECTED[issue.expected] ?? 'has the wrong type';
  if (issue.code === 'too_big') return 'is too long';
  if (issue.code !== 'invalid_value') return 'is not valid';
  const allowed = issue.values.map(String);
  const near = typeof issue.input === 'string' ? suggest(issue.input, allowed) : null;
  const list = `must be one of ${allowed.join(', ')}`;
  return near === null ? list : `must be one of the known names; did you mean "${near}"?`;
}

/** Turns the schema's issues into problems with paths. */
export function problemsOf(
  issues: readonly Issue[],
  options: {
    value: unknown;
    lineOf: (path: KeyPath) => number | null;
    knownKeys: (path: KeyPath) => string[];
  },
): Problem[] {
  const { value, lineOf } = options;
  return issues.flatMap(flatten).flatMap((issue): Problem[] => {
    const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => unknownKey([...path, key], options));
    }
    if (issue.code === 'invalid_key') return [unknownKey(path, options)];
    return [{ path, message: absence(value, path) ?? issue.message, line: lineOf(path) }];
  });
}

function unknownKey(
  path: KeyPath,
  options: { lineOf: (path: KeyPath) => number | null; knownKeys: (path: KeyPath) => string[] },
): Problem {
  const known = options.knownKeys(path.slice(0, -1));
  const near = suggest(String(path.at(-1)), known);
  const help = near === null ? ` (known here: ${known.join(', ')})` : `; did you mean "${near}"?`;
  return { path, message: `is not a known key${help}`, line: options.lineOf(path) };
}

/** Returns the problem of a key without a value, which replaces the schema's message; null for a key with a value. */
function absence(value: unknown, path: KeyPath): string | null {
  const found = path.reduce<unknown>((parent, part) => ownValue(parent, part), value);
  if (path.length === 0 && (found === null || found === undefined)) return 'is empty';
  if (found === undefined) return 'is missing';
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
