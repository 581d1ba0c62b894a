import { parseLossless } from '../core/lossless-json.ts';

/**
 * The one place that says how the hub's JSON is parsed: numbers that a double cannot hold keep their digits.
 * Throws `SyntaxError` on text that is not JSON.
 */
export function parseJson(text: string): unknown {
  return parseLossless(text);
}
