import { randomInt } from 'node:crypto';

/** A random 31-bit integer for the fingerprints of keys: no input can be made to collide on purpose. */
export function randomSeed(): number {
  return randomInt(2 ** 31);
}
