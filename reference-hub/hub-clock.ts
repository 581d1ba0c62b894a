/** The hub's own time, which stamps rows and fills the `Date` header. */
export type HubClock = ReturnType<typeof createHubClock>;

/**
 * @param now the world's clock, ms
 * @param startMs what the hub's clock shows at the beginning; default: what `now` shows
 */
export function createHubClock(options: { now: () => number; startMs?: number | undefined }) {
  const origin = options.now();
  let shown = options.startMs ?? origin;
  return {
    /** Milliseconds since 1970, by the hub's clock. */
    now: (): number => Math.floor(shown + options.now() - origin),
    /** Moves the clock forward at once. */
    advance: (ms: number): void => {
      shown += ms;
    },
  };
}
