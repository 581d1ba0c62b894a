import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startReferenceHub } from '../../reference-hub/start-reference-hub.ts';
import { freePort } from '../../stack/free-port.ts';
import { startStack } from '../../stack/start-stack.ts';
import { checkAccepted } from './accepted.ts';
import { startControlPlane, type Programs } from './control-plane.ts';
import { helmFor } from './helm.ts';
import { checkLifecycle } from './lifecycle.ts';
import { startPlayedNode } from './node.ts';
import { fullValues, preparePlatform, storeSecrets, type Expect } from './world.ts';

export interface CheckOptions {
  readonly programs: Programs & { readonly helm: string };
  /** The Prometheus Operator's CRDs. */
  readonly crdFolder: string;
  readonly print: (line: string) => void;
  /** Whether to offer the rendered objects only, and install nothing. */
  readonly isShort: boolean;
  /** Whether to leave the folder with all logs. */
  readonly isKept: boolean;
}

const NAMESPACE = 'schools';
const STUDENTS = 40;

/** Checks the chart against a real API server; resolves with what is not as it should be. Throws `StackError`. */
export async function checkChart(options: CheckOptions): Promise<readonly string[]> {
  const { programs, crdFolder, print, isShort, isKept } = options;
  const problems: string[] = [];
  const expect: Expect = (isTrue, what, why = '') => {
    print(`${isTrue ? 'ok    ' : 'FAILED'} ${what}${isTrue || why === '' ? '' : `: ${why.trim()}`}`);
    if (!isTrue) problems.push(what);
  };
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-cluster-'));
  try {
    print('starting etcd, kube-apiserver, kube-controller-manager and kube-scheduler');
    await using plane = await startControlPlane(programs, folder);
    const { api } = plane;
    await preparePlatform(api, crdFolder, NAMESPACE);
    const helm = helmFor(programs.helm, plane.kubeconfig, NAMESPACE, folder);
    await checkAccepted(api, helm, NAMESPACE, expect);
    if (isShort) return problems;
    await using stack = await startStack({ print });
    const hub = await startReferenceHub({ students: STUDENTS });
    await using _ = { [Symbol.asyncDispose]: () => hub.stop() };
    await storeSecrets(api, NAMESPACE, hub);
    const pods = join(folder, 'pods');
    await mkdir(pods);
    await using node = await startPlayedNode(api, pods, plane.certificate);
    const port = await freePort();
    const values = (session: string) => fullValues({ stack, hub, port, session });
    const life = { api, helm, node, expect, namespace: NAMESPACE, folder, print, values };
    await Promise.race([checkLifecycle(life), node.failed]);
    return problems;
  } finally {
    if (isKept) print(`logs: ${folder}`);
    else await rm(folder, { recursive: true, force: true });
  }
}
