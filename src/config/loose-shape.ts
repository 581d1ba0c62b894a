import type { KeyPath } from './problem.ts';

/** Something that is wrong between keys. */
export interface Finding {
  readonly path: KeyPath;
  readonly message: string;
}

/** A map of the file, or an empty one where it has another shape: that is told elsewhere. */
export function mapOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}

/** Likewise a list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
