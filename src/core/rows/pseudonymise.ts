import { createHmac } from 'node:crypto';

import { canonicalText } from './json-text.ts';

/**
 * Replaces a value with a keyed pseudonym. A text becomes its HMAC-SHA256 in hex. A reference keeps its `type`, gets
 * a pseudonym as `sourcedId`, and loses the rest, including `href`. An array is treated element by element. Any other
 * value becomes the HMAC of its canonical JSON text. Under the same key, equal values have equal pseudonyms.
 */
export function pseudonymise(value: unknown, key: string): unknown {
  if (value === null) return null;
  if (typeof value === 'string') return hmac(value, key);
  if (Array.isArray(value)) return value.map((element) => pseudonymise(element, key));
  const reference = asReference(value);
  if (reference === null) return hmac(canonicalText(value), key);
  const sourcedId = hmac(reference.sourcedId, key);
  return typeof reference.type === 'string' ? { sourcedId, type: reference.type } : { sourcedId };
}

/** Removes the top-level fields `drop` of an object and masks those of `pseudonymise`. */
export function createMask(options: {
  readonly drop: readonly string[];
  readonly pseudonymise: readonly string[];
  readonly pseudonymiseKey?: string | undefined;
}): (object: object) => Readonly<Record<string, unknown>> {
  const dropped = new Set(options.drop);
  const masked = new Set(options.pseudonymise);
  const { pseudonymiseKey: key = '' } = options;
  if (masked.size > 0 && key === '') throw new Error('pseudonyms need a key');
  if (dropped.size === 0 && masked.size === 0) return (object) => object as Record<string, unknown>;
  return (object) => {
    // Without a prototype, `__proto__` is an ordinary key.
    const copy = Object.create(null) as Record<string, unknown>;
    for (const [name, value] of Object.entries(object)) {
      if (!dropped.has(name)) copy[name] = masked.has(name) ? pseudonymise(value, key) : value;
    }
    return copy;
  };
}

function hmac(text: string, key: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}

function asReference(value: unknown): { sourcedId: string; type: unknown } | null {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'sourcedId')) return null;
  const { sourcedId, type } = value as { sourcedId: unknown; type?: unknown };
  return typeof sourcedId === 'string' ? { sourcedId, type } : null;
}
