/** A part of the program that others may have to wait for. */
export type HealthPart =
  | 'start'
  | 'config'
  | 'hub'
  | 'kafka'
  | 'registry'
  | 'redis'
  | 'owner'
  | 'pipeline'
  | 'stop';

/** Why the program is not ready: for people and for probes, so without secrets and row content. */
export interface NotReady {
  readonly part: HealthPart;
  /** Absent when it concerns every tenant. */
  readonly tenant?: string | undefined;
  readonly why: string;
  readonly remedy: string;
}

/** What is known of the program's state: what keeps it from being ready, and whether it is past help. */
export interface Health {
  /** Notes a reason; returns whether that is news (a part has one reason per tenant, a new one replaces it). */
  notReady(reason: NotReady): boolean;
  /** Takes a part's reason back; returns whether there was one. */
  ready(part: HealthPart, tenant?: string): boolean;
  /** Nothing but a restart helps. The first such reason stays. */
  fatal(why: string): void;
  reasons(): readonly NotReady[];
  /** Why it is past help; null while it is not. */
  fatalReason(): string | null;
}

/** A program that is ready and alive until told otherwise. */
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
