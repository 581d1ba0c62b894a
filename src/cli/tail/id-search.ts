import { compositeKey } from '../../model/keys.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Finds records in whose key or value an id stands: as a word of its own, since `7` is not about `17`. */
export class IdSearch {
  readonly #pattern: RegExp;
  /** The spellings in the entries of `absence-state`, which pack a UUID into 16 bytes (core/chains/entry-codec.ts). */
  readonly #bytes: readonly (string | Buffer)[];

  constructor(id: string) {
    // In a composite key the id is percent-encoded.
    const spellings = [id, compositeKey(id, '').slice(0, -1), encodeURIComponent(id)];
    const escaped = spellings.map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
    this.#pattern = new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${escaped.join('|')})(?![\p{L}\p{N}])`, 'u');
    this.#bytes = UUID.test(id) ? [id, Buffer.from(id.replaceAll('-', ''), 'hex')] : [id];
  }

  /** Looks into texts, names of fields and numbers, also of JSON in a text, as `rejects` have. */
  isIn(value: unknown): boolean {
    if (typeof value === 'string') return this.#pattern.test(value) || this.isIn(jsonIn(value));
    if (typeof value !== 'object' || value === null) return this.#pattern.test(String(value));
    return Object.entries(value).some(([name, inner]) => this.#pattern.test(name) || this.isIn(inner));
  }

  /** Looks into bytes that cannot be decoded. What stands before and after is no text, so a part of a longer id counts. */
  isInBytes(bytes: Buffer): boolean {
    return this.#bytes.some((spelling) => bytes.includes(spelling));
  }
}

/** The array or object that a text is the JSON of; else null. */
function jsonIn(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
