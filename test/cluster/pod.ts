import type { Named } from './api.ts';

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

export interface EnvVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef?: { readonly name: string; readonly key: string };
    readonly fieldRef?: { readonly fieldPath: string };
  };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env?: readonly EnvVariable[];
  readonly envFrom?: readonly { readonly secretRef?: { readonly name: string } }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
}

export interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string };
  readonly secret?: { readonly secretName: string };
}

export interface PodSpec {
  readonly restartPolicy?: string;
  readonly containers: readonly Container[];
  readonly volumes?: readonly Volume[];
}

/** What the played node reads of a Pod. */
export interface Pod extends Named {
  readonly spec: PodSpec;
  readonly status: { readonly phase: string };
}
