import { createHmac } from 'node:crypto';

const HEX_DIGITS = 16;

/** The part of a mapping that takes data out of rows. */
export interface Masking {
  readonly drop: readonly string[];
  readonly pseudonymise: readonly string[];
  /** Empty when nothing is pseudonymised. */
  readonly pseudonymiseKey: string;
}

/**
 * An id (16 hex digits) of what a mapping drops and pseudonymises and under which key, without revealing the key. Null
 * for a mapping that takes nothing out. Records published under a mapping carry its id (`ce_mapping`).
 */
export function mappingIdOf({ drop, pseudonymise, pseudonymiseKey }: Masking): string | null {
  if (drop.length === 0 && pseudonymise.length === 0) return null;
  const key = pseudonymise.length === 0 ? '' : pseudonymiseKey;
  const lists = [drop, pseudonymise].map((names) => [...new Set(names)].sort());
  return createHmac('sha256', key)
    .update(`mapping ${JSON.stringify(lists)}`)
    .digest('hex')
    .slice(0, HEX_DIGITS);
}
