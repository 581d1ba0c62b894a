import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import type { Named } from './api.ts';

export const CHART = fileURLToPath(new URL('../../helm/rollcall', import.meta.url));
const LONGEST_MS = 240_000;

export interface HelmResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export type Helm = (...args: readonly string[]) => Promise<HelmResult>;

/** Runs helm against the API server of `kubeconfig`, in `namespace`. */
export function helmFor(program: string, kubeconfig: string, namespace: string, home: string): Helm {
  const env = { PATH: process.env['PATH'], HOME: home, KUBECONFIG: kubeconfig, HELM_NAMESPACE: namespace };
  const options = { env, timeout: LONGEST_MS, maxBuffer: 64 * 1024 * 1024 };
  return (...args) =>
    new Promise((resolve) => {
      execFile(program, args, options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
        resolve({ code, stdout, stderr });
      });
    });
}

/** The objects of what `helm template` printed, or of a file; 0440 is octal in Kubernetes' YAML. */
export function objectsIn(manifest: string): readonly Named[] {
  return parseAllDocuments(manifest, { version: '1.1' })
    .map((document) => document.toJS() as Named | null)
    .filter((object) => object !== null);
}

/** The YAML files in a folder of the chart, by their paths in the chart. */
export async function yamlFiles(folder: string): Promise<readonly string[]> {
  const names = (await readdir(join(CHART, folder))).filter((name) => name.endsWith('.yaml'));
  return names.toSorted().map((name) => `${folder}/${name}`);
}
