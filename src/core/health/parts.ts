/** What the health of a tenant consists of. Metrics, `/readyz` and the status page name the parts like this. */
export const TENANT_PARTS = [
  'pipeline',
  'hub',
  'breaker',
  'kafka',
  'quota',
  'registry',
  'redis',
  'owner',
  'load',
  'short',
  'full',
  'watermark',
] as const;

/** A part that readiness depends on; `stop` concerns the process. */
export type HealthPart = (typeof TENANT_PARTS)[number] | 'stop';

/** Why a part is not ready, for people and probes: without secrets and row content. */
export interface NotReady {
  readonly part: HealthPart;
  /** Absent if it concerns every tenant. */
  readonly tenant?: string | undefined;
  readonly why: string;
  readonly remedy: string;
}
