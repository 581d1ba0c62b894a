import { setTimeout as delay } from 'node:timers/promises';
import type { Proxy } from './proxy.ts';

export type ProxyTrouble = 'cut' | 'stall' | 'slow' | 'half-open' | 'reset';

export const PROXY_TROUBLES: readonly ProxyTrouble[] = ['cut', 'stall', 'slow', 'half-open', 'reset'];

const SLOW = { bytesPerSecond: 100_000, latencyMs: 20 };

/** Starts one kind of trouble; `mend` ends it. */
export function begin(proxy: Proxy, trouble: ProxyTrouble): void {
  switch (trouble) {
    case 'cut':
      proxy.cut();
      return;
    case 'stall':
      proxy.stall();
      return;
    case 'slow':
      proxy.slow(SLOW);
      return;
    case 'half-open':
      proxy.halfOpen();
      return;
    case 'reset':
      proxy.reset();
  }
}

export interface WeatherOptions {
  readonly seed: number;
  /** The whole duration, ms. */
  readonly forMs: number;
  /** The longest single trouble, and the longest time between two, ms. */
  readonly longestMs: number;
}

/** Causes one kind of trouble after another on some proxy, each for a while, and mends all at the end. Returns what it did. */
export async function badWeather(
  proxies: Readonly<Record<string, Proxy>>,
  options: WeatherOptions,
): Promise<string[]> {
  const random = randomFrom(options.seed);
  const names = Object.keys(proxies);
  const done: string[] = [];
  const endAtMs = performance.now() + options.forMs;
  while (performance.now() < endAtMs) {
    const name = pick(names, random);
    const trouble = pick(PROXY_TROUBLES, random);
    const proxy = proxies[name];
    if (proxy === undefined) break;
    begin(proxy, trouble);
    await delay(random() * options.longestMs);
    proxy.mend();
    done.push(`${trouble} ${name}`);
    await delay((random() * options.longestMs) / 2);
  }
  return done;
}

function pick<T>(from: readonly T[], random: () => number): T {
  const found = from[Math.floor(random() * from.length)];
  if (found === undefined) throw new Error('nothing to pick from');
  return found;
}

/** mulberry32: the same fractions for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
