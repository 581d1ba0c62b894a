const INITIAL_SLOTS = 1024;
const MAX_LOAD = 0.7;

/**
 * The keys seen in a sync, as 64-bit fingerprints: 11 to 23 bytes per key, regardless of its length.
 *
 * Two of n keys share a fingerprint with a probability of n²/2⁶⁵ (10⁻⁷ for two million rows). A missing row then looks
 * present, or a changed row looks listed twice; a present row never looks missing. Each sync has a new seed, so the next
 * full sync finds what this one overlooked.
 */
export class SeenKeys {
  readonly #seed: number;
  #slots: Uint32Array = new Uint32Array(INITIAL_SLOTS * 2);
  #size = 0;

  /** `seed`: any 32-bit integer, new for each sync. */
  constructor(seed: number) {
    this.#seed = seed | 0;
  }

  get size(): number {
    return this.#size;
  }

  /** True when the key is new. */
  add(key: string): boolean {
    const high = fingerprint(key, this.#seed);
    const low = fingerprint(key, ~this.#seed) || 1; // 0 in the low half marks a free slot
    if (!this.#insert(high, low)) return false;
    if (this.#size > (this.#slots.length / 2) * MAX_LOAD) this.#grow();
    return true;
  }

  has(key: string): boolean {
    const high = fingerprint(key, this.#seed);
    const low = fingerprint(key, ~this.#seed) || 1;
    const slots = this.#slots;
    const mask = slots.length / 2 - 1;
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      if (slots[slot * 2 + 1] === 0) return false;
      if (slots[slot * 2] === high && slots[slot * 2 + 1] === low) return true;
    }
  }

  #insert(high: number, low: number): boolean {
    const slots = this.#slots;
    const mask = slots.length / 2 - 1;
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      if (slots[slot * 2 + 1] === 0) {
        slots[slot * 2] = high;
        slots[slot * 2 + 1] = low;
        this.#size += 1;
        return true;
      }
      if (slots[slot * 2] === high && slots[slot * 2 + 1] === low) return false;
    }
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(old.length * 2);
    this.#size = 0;
    for (let index = 0; index < old.length; index += 2) {
      const low = old[index + 1] ?? 0;
      if (low !== 0) this.#insert(old[index] ?? 0, low);
    }
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
