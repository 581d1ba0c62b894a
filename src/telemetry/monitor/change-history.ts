const MINUTE_MS = 60_000;
export const HISTORY_MINUTES = 60;

/** Records published in one minute. */
export interface MinuteOfChanges {
  readonly created: number;
  readonly updated: number;
  readonly removed: number;
}

type Kind = keyof MinuteOfChanges;
const KINDS = ['created', 'updated', 'removed'] as const satisfies Kind[];

/** The changes of the last hour, minute by minute, in a ring of fixed size. */
export class ChangeHistory {
  readonly #rings = Object.fromEntries(
    KINDS.map((kind) => [kind, new Uint32Array(HISTORY_MINUTES)]),
  ) as Record<Kind, Uint32Array>;
  #minute = 0;

  add(nowMs: number, changes: Partial<MinuteOfChanges>): void {
    const at = this.#advance(nowMs);
    for (const kind of KINDS) {
      const ring = this.#rings[kind];
      ring[at] = (ring[at] ?? 0) + (changes[kind] ?? 0);
    }
  }

  /** The oldest minute first; the last one is under way. */
  minutes(nowMs: number): MinuteOfChanges[] {
    const now = this.#advance(nowMs);
    return Array.from({ length: HISTORY_MINUTES }, (_, index) => {
      const at = (now + 1 + index) % HISTORY_MINUTES;
      return {
        created: this.#rings.created[at] ?? 0,
        updated: this.#rings.updated[at] ?? 0,
        removed: this.#rings.removed[at] ?? 0,
      };
    });
  }

  /** Clears the minutes that have passed; a clock that was set back adds to the newest minute. */
  #advance(nowMs: number): number {
    const minute = Math.max(this.#minute, Math.floor(nowMs / MINUTE_MS));
    const passed = Math.min(HISTORY_MINUTES, minute - this.#minute);
    for (let step = 0; step < passed; step += 1) {
      for (const kind of KINDS) this.#rings[kind][(minute - step) % HISTORY_MINUTES] = 0;
    }
    this.#minute = minute;
    return minute % HISTORY_MINUTES;
  }
}
