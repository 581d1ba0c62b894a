import type { KeyPath } from './problem.ts';

/** A problem between keys. */
export interface Finding {
  readonly path: KeyPath;
  readonly message: string;
}

/** Returns a map of the file; an empty one for another shape, which the schema reports. */
export function mapOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}

/** Returns a list of the file; an empty one for another shape. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
