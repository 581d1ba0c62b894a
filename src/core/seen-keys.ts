import { randomInt } from 'node:crypto';

/** Few, because most syncs are incremental ones that see few keys. */
const INITIAL_SLOTS = 64;
const MAX_LOAD = 0.7;

/**
 * The keys seen in a sync, as 64-bit fingerprints: 11 to 23 bytes per key, regardless of its length.
 *
 * Two of n keys share a fingerprint with a probability of n²/2⁶⁵ (10⁻⁷ for two million rows). A missing row then looks
 * present, or a changed row looks listed twice; a present row never looks missing. No seed is used for longer than a
 * session, so a later session finds what this one overlooked.
 */
export class SeenKeys {
  readonly #seed: number;
  #slots: Uint32Array = new Uint32Array(INITIAL_SLOTS * 2);
  #size = 0;

  /** `seed`: any 32-bit integer, random. */
  constructor(seed: number) {
    this.#seed = seed | 0;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds keys by their fingerprints, which must have the same seed. */
  addAll({ words }: Fingerprints): void {
    for (let at = 0; at < words.length; at += 2) this.#addWords(words[at] ?? 0, words[at + 1] ?? 0);
  }

  /** Whether one of the keys is there; their fingerprints must have the same seed. */
  hasAny({ words }: Fingerprints): boolean {
    for (let at = 0; at < words.length; at += 2) {
      if (this.#hasWords(words[at] ?? 0, words[at + 1] ?? 0)) return true;
    }
    return false;
  }

  /** True when the key is new. */
  add(key: string): boolean {
    return this.#addWords(fingerprint(key, this.#seed), Fingerprints.lowOf(key, this.#seed));
  }

  has(key: string): boolean {
    return this.#hasWords(fingerprint(key, this.#seed), Fingerprints.lowOf(key, this.#seed));
  }

  /** Where these words are, or the free slot where they belong. */
  #slotOf(high: number, low: number): number {
    const slots = this.#slots;
    const mask = slots.length / 2 - 1;
    let slot = low & mask;
    while (slots[slot * 2 + 1] !== 0 && (slots[slot * 2] !== high || slots[slot * 2 + 1] !== low))
      slot = (slot + 1) & mask;
    return slot;
  }

  #hasWords(high: number, low: number): boolean {
    return this.#slots[this.#slotOf(high, low) * 2 + 1] !== 0;
  }

  #addWords(high: number, low: number): boolean {
    const slot = this.#slotOf(high, low);
    if (this.#slots[slot * 2 + 1] !== 0) return false;
    this.#slots[slot * 2] = high;
    this.#slots[slot * 2 + 1] = low;
    this.#size += 1;
    if (this.#size > (this.#slots.length / 2) * MAX_LOAD) this.#grow();
    return true;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(old.length * 2);
    this.#size = 0;
    for (let index = 0; index < old.length; index += 2) {
      const low = old[index + 1] ?? 0;
      if (low !== 0) this.#addWords(old[index] ?? 0, low);
    }
  }
}

/** The fingerprints of some keys, 8 bytes each; two of them are equal as rarely as {@link SeenKeys} says. */
export class Fingerprints {
  readonly #seed: number;
  /** The high and the low half of each fingerprint, alternating. */
  readonly words: Uint32Array;

  constructor(keys: readonly string[], seed: number) {
    this.#seed = seed | 0;
    this.words = new Uint32Array(keys.length * 2);
    keys.forEach((key, at) => {
      this.words[at * 2] = fingerprint(key, this.#seed);
      this.words[at * 2 + 1] = Fingerprints.lowOf(key, this.#seed);
    });
  }

  /** The low half of a key's fingerprint; never 0, which marks a free slot. */
  static lowOf(key: string, seed: number): number {
    return fingerprint(key, ~seed) || 1;
  }

  /** The position of a key; -1 if it is not there. */
  indexOf(key: string): number {
    const high = fingerprint(key, this.#seed);
    const low = Fingerprints.lowOf(key, this.#seed);
    const { words } = this;
    for (let at = 0; at < words.length; at += 2)
      if (words[at] === high && words[at + 1] === low) return at / 2;
    return -1;
  }

  has(key: string): boolean {
    return this.indexOf(key) !== -1;
  }

  everyLow(test: (low: number) => boolean): boolean {
    for (let at = 1; at < this.words.length; at += 2) if (!test(this.words[at] ?? 0)) return false;
    return true;
  }
}

/** MurmurHash3 (32 bit, public domain) over UTF-16 code units. */
function fingerprint(text: string, seed: number): number {
  let hash = seed;
  for (let index = 0; index < text.length; index += 1) {
    let block = Math.imul(text.charCodeAt(index), 0xcc9e2d51);
    block = (block << 15) | (block >>> 17);
    hash ^= Math.imul(block, 0x1b873593);
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  hash ^= text.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A random 31-bit integer for the fingerprints of keys: no input can be made to collide on purpose. */
export function randomSeed(): number {
  return randomInt(2 ** 31);
}

/** A function that returns true once for each wanted key, or for every key. `seed`: any 32-bit integer, new each time. */
export function onceEach(wanted: ReadonlySet<string> | 'all', seed: number): (key: string) => boolean {
  const taken = new SeenKeys(seed);
  return (key) => (wanted === 'all' || wanted.has(key)) && taken.add(key);
}
