import { parseLossless } from '../core/lossless-json.ts';

/**
 * Parses the hub's JSON; numbers that a double cannot represent keep their digits.
 * Throws `SyntaxError` on text that is not JSON.
 */
export function parseJson(text: string): unknown {
  return parseLossless(text);
}
