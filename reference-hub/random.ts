/** Seeded choices. Everything the district invents comes from here, so that one seed gives one district. */

const HEX_DIGITS = Buffer.from('0123456789abcdef');
/** Scratch space of uuidFrom: 32 digits, and the same with dashes between. */
const UUID = Buffer.alloc(32);
const DASHED = Buffer.from('00000000-0000-0000-0000-000000000000');
const GROUPS = [
  [0, 0, 8],
  [9, 8, 12],
  [14, 12, 16],
  [19, 16, 20],
  [24, 20, 32],
] as const;

/** A well-mixed unsigned 32-bit number from up to four integers (murmur3 finaliser). */
export function mix(a: number, b = 0, c = 0, d = 0): number {
  let hash = scramble(a ^ 0x9e3779b9);
  hash = scramble(hash ^ scramble(b + 0x7f4a7c15));
  hash = scramble(hash ^ scramble(c + 0x165667b1));
  return scramble(hash ^ scramble(d + 0x27d4eb2f));
}

/** Two unsigned 32-bit numbers from a text, for ids that are derived from other ids. */
export function hashText(text: string): readonly [number, number] {
  let first = 0x811c9dc5;
  let second = 0x1b873593;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    first = Math.imul(first ^ code, 0x01000193);
    second = Math.imul(second + code, 0x5bd1e995) ^ (second >>> 13);
  }
  return [scramble(first), scramble(second)];
}

/** A UUID (version 4 in form) that is a function of its arguments. */
export function uuidFrom(seed: number, kind: number, first: number, second = 0): string {
  const a = mix(seed, kind, first, second);
  const b = mix(a, second, kind, first);
  const c = mix(b, first, seed, a);
  const d = mix(c, kind, second, b);
  writeHex(a, 0);
  writeHex((b & 0xffff0fff) | 0x4000, 8);
  writeHex((c & 0x3fffffff) | 0x80000000, 16);
  writeHex(d, 24);
  // One flat text: joining pieces would leave a tree of them behind for each of a million ids.
  for (const [target, source, end] of GROUPS) UUID.copy(DASHED, target, source, end);
  return DASHED.toString('latin1');
}

/** A stream of random choices. */
export type Random = ReturnType<typeof createRandom>;

/** Mulberry32: small, fast, and good enough for invented schools. */
export function createRandom(seed: number) {
  let state = seed >>> 0;
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const below = (bound: number): number => Math.floor(fraction() * bound);
  return {
    /** 0 ≤ x < 1 */
    fraction,
    /** 0 ≤ n < bound */
    below,
    pick: <T>(items: readonly T[]): T => {
      const item = items[below(items.length)];
      if (item === undefined) throw new RangeError('cannot pick from an empty list');
      return item;
    },
    chance: (share: number): boolean => fraction() < share,
  };
}

function scramble(value: number): number {
  let hash = value | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function writeHex(value: number, offset: number): void {
  for (let digit = 0; digit < 8; digit += 1) {
    UUID[offset + digit] = HEX_DIGITS[(value >>> (28 - digit * 4)) & 0xf] ?? 0;
  }
}
