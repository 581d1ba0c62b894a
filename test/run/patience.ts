import { vi } from 'vitest';

/**
 * A wait ends as soon as its condition holds, so a long limit costs nothing in a test that passes; Vitest's own limit of a
 * second is too short beside other load. It is shorter than the limit of any test, so that what was awaited is shown.
 */
const BY_DEFAULT_MS = 110_000;
const AT_LEAST_MS = 30_000;

const { waitFor, waitUntil } = vi;

type WaitOptions = Parameters<typeof waitFor>[1];

function patient(options: WaitOptions): WaitOptions {
  const given = typeof options === 'number' ? { timeout: options } : options;
  return { ...given, timeout: Math.max(AT_LEAST_MS, given?.timeout ?? BY_DEFAULT_MS) };
}

vi.waitFor = (callback, options) => waitFor(callback, patient(options));
vi.waitUntil = (callback, options) => waitUntil(callback, patient(options));
