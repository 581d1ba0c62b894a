import { vi } from 'vitest';

/**
 * A wait ends as soon as its condition holds, so a long limit costs nothing in a test that passes; Vitest's own limit of a
 * second is too short beside other load.
 */
const AT_LEAST_MS = 30_000;

const { waitFor, waitUntil } = vi;

type WaitOptions = Parameters<typeof waitFor>[1];

function patient(options: WaitOptions): WaitOptions {
  const given = typeof options === 'number' ? { timeout: options } : options;
  return { ...given, timeout: Math.max(AT_LEAST_MS, given?.timeout ?? 0) };
}

vi.waitFor = (callback, options) => waitFor(callback, patient(options));
vi.waitUntil = (callback, options) => waitUntil(callback, patient(options));
