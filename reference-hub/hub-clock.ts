/** The hub's own time, which stamps rows and fills the `Date` header; it may run faster than the world's. */
export type HubClock = ReturnType<typeof createHubClock>;

/**
 * @param now the world's clock, ms
 * @param startMs what the hub's clock shows at the beginning; default: what `now` shows
 * @param speed how many hub seconds pass in a second of the world
 */
export function createHubClock(options: { now: () => number; startMs?: number | undefined; speed: number }) {
  const origin = options.now();
  let shown = options.startMs ?? origin;
  return {
    speed: options.speed,
    /** Milliseconds since 1970, by the hub's clock. */
    now: (): number => Math.floor(shown + (options.now() - origin) * options.speed),
    /** Moves the clock forward at once. */
    advance: (ms: number): void => {
      shown += ms;
    },
  };
}
