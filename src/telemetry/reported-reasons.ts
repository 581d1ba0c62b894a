import type { HealthPart, NotReady } from '../core/health/parts.ts';

/**
 * The reasons against readiness and liveness that events reported, by part (hub, Kafka, Redis, …). The answer of
 * `/readyz` also follows from the state of each collection: core/health/tenant-status.ts, put together in
 * monitor/board.ts.
 */
export interface Health {
  /** Sets the reason why a part is not ready, in place of the one before; returns whether the text is new. */
  notReady(reason: NotReady): boolean;
  /** Says that a part is ready again: clears its reason; returns whether there was one. */
  ready(part: HealthPart, tenant?: string): boolean;
  /** Records that only a restart helps. The first such reason stays. */
  fatal(why: string): void;
  reasons(): readonly NotReady[];
  /** Returns why only a restart helps; null otherwise. */
  fatalReason(): string | null;
}

/** Starts as ready and alive. */
export function createHealth(): Health {
  const reasons = new Map<string, NotReady>();
  let fatal: string | null = null;
  return {
    notReady(reason) {
      const key = keyOf(reason.part, reason.tenant);
      const before = reasons.get(key);
      reasons.set(key, reason);
      return before?.why !== reason.why;
    },
    ready: (part, tenant) => reasons.delete(keyOf(part, tenant)),
    fatal(why) {
      fatal ??= why;
    },
    reasons: () => [...reasons.values()],
    fatalReason: () => fatal,
  };
}

function keyOf(part: HealthPart, tenant: string | undefined): string {
  return `${part} ${tenant ?? ''}`;
}
