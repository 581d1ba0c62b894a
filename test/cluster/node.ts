import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { mkdir } from 'node:fs/promises';
import { pathOf, type Api, type Named } from './api.ts';
import { serveLogs } from './pod-logs.ts';
import { startPodProcess, type PodProcess } from './pod-process.ts';
import type { Pod, Probe } from './pod.ts';

/**
 * A node without kubelet: it does with Pods what a kubelet does, except that a process of this machine takes the place of
 * the container. So hooks, probes, ends and their order are real; images, users, capabilities, limits and network policies
 * are not.
 */
export interface PlayedNode extends AsyncDisposable {
  /** Each Pod that it ran, in the order in which they began. */
  readonly runs: readonly PodRun[];
  /** Rejects when the node itself fails. */
  readonly failed: Promise<never>;
}

export interface PodRun {
  readonly pod: string;
  readonly args: readonly string[];
  readonly beganMs: number;
  endedMs?: number;
  exitCode?: number;
  askedToEndMs?: number;
  isReady: boolean;
  log(): Promise<string>;
}

const NODE = 'played';
const LOOK_AGAIN_MS = 250;
const PROBE_WITHIN_MS = 5000;
const NODES = { apiVersion: 'v1', kind: 'Node' };
const PODS = { apiVersion: 'v1', kind: 'Pod' };

interface Running extends PodRun {
  readonly uid: string;
  readonly process: PodProcess;
  readonly ip: string;
}

/** `certificate` is for the port at which the API server asks for logs. */
export async function startPlayedNode(
  api: Api,
  folder: string,
  certificate: { readonly key: string; readonly cert: string },
): Promise<PlayedNode> {
  const running = new Map<string, Running>();
  const logs = await serveLogs(certificate, (pod) =>
    [...running.values()].find((each) => each.pod === pod)?.log(),
  );
  await createNode(api, logs.port);
  const runs: PodRun[] = [];
  const stop = new AbortController();
  const loop = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      for (const pod of await api.list<Pod>('/api/v1/pods?fieldSelector=spec.nodeName%3D' + NODE)) {
        const uid = pod.metadata.uid ?? '';
        const known = running.get(uid);
        if (known !== undefined) await look(api, pod, known);
        else if (pod.metadata.deletionTimestamp !== undefined) await remove(api, pod);
        else {
          const begun = await begin(api, pod, join(folder, uid), runs.length + 1);
          running.set(uid, begun);
          runs.push(begun);
        }
      }
      await sleep(LOOK_AGAIN_MS);
    }
  };
  const ended = loop();
  const failed = ended.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);
  const dispose = async () => {
    stop.abort();
    await ended.catch(() => undefined);
    logs.stop();
    for (const each of running.values()) each.process.process.kill('SIGKILL');
    await Promise.all([...running.values()].map((each) => each.process.process.exited));
  };
  return { runs, failed, [Symbol.asyncDispose]: dispose };
}

async function createNode(api: Api, logPort: number): Promise<void> {
  const ready = { type: 'Ready', status: 'True', reason: 'Played', message: 'no kubelet' };
  const room = { cpu: '8', memory: '16Gi', pods: '20' };
  await api.must('POST', pathOf(NODES), {
    ...NODES,
    metadata: { name: NODE, labels: { 'kubernetes.io/os': 'linux' } },
  });
  // A new node is tainted until a controller finds it ready; that controller waits for a kubelet.
  await api.must('PATCH', pathOf(NODES, undefined, NODE), { spec: { taints: null } });
  await api.must('PATCH', `${pathOf(NODES, undefined, NODE)}/status`, {
    status: {
      conditions: [ready],
      capacity: room,
      allocatable: room,
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: logPort } },
    },
  });
}

async function begin(api: Api, pod: Pod, folder: string, number: number): Promise<Running> {
  await mkdir(folder, { recursive: true });
  const process = await startPodProcess(api, pod, folder);
  const running: Running = {
    pod: pod.metadata.name,
    uid: pod.metadata.uid ?? '',
    args: pod.spec.containers[0]?.args ?? [],
    beganMs: Date.now(),
    isReady: false,
    process,
    ip: `10.244.0.${number}`,
    log: () => process.log(),
  };
  void noteEnd(running);
  await report(api, pod, running);
  return running;
}

async function noteEnd(running: Running): Promise<void> {
  running.exitCode = await running.process.process.exited;
  running.endedMs = Date.now();
}

/** Notices an end, tells a process to end, and asks the probes. */
async function look(api: Api, pod: Pod, running: Running): Promise<void> {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata;
  const isOver = ['Succeeded', 'Failed'].includes(pod.status.phase);
  if (running.exitCode !== undefined) {
    running.isReady = false;
    if (!isOver) await report(api, pod, running);
    if (deletionTimestamp !== undefined) await remove(api, pod);
    return;
  }
  if (deletionTimestamp !== undefined) {
    if (running.askedToEndMs === undefined) {
      running.askedToEndMs = Date.now();
      running.process.process.kill('SIGTERM');
    } else if (Date.now() - running.askedToEndMs > deletionGracePeriodSeconds * 1000) {
      running.process.process.kill('SIGKILL');
    }
    return;
  }
  const isReady = await answers(running.process.port, pod.spec.containers[0]?.readinessProbe);
  if (isReady === running.isReady) return;
  running.isReady = isReady;
  await report(api, pod, running);
}

/** Whether the address of a probe answers with a success. */
async function answers(port: number, probe: Probe | undefined): Promise<boolean> {
  if (probe === undefined) return true;
  const signal = AbortSignal.timeout(PROBE_WITHIN_MS);
  return fetch(`http://127.0.0.1:${port}${probe.httpGet.path}`, { signal }).then(
    (answer) => answer.ok,
    () => false,
  );
}

/** Reports phase, readiness and the container's state. A process that is to run forever and ended is not started again, but may be waited for. */
async function report(api: Api, pod: Pod, { exitCode, isReady, beganMs, ip }: Running): Promise<void> {
  const now = new Date().toISOString();
  const startedAt = new Date(beganMs).toISOString();
  const isToRun = pod.spec.restartPolicy !== 'Never' && pod.metadata.deletionTimestamp === undefined;
  const ended = {
    phase: exitCode === 0 ? 'Succeeded' : 'Failed',
    reason: exitCode === 0 ? 'Completed' : 'Error',
  };
  const hasEnded = exitCode !== undefined && !isToRun;
  const waiting =
    exitCode === undefined ? { running: { startedAt } } : { waiting: { reason: 'CrashLoopBackOff' } };
  const terminated = { exitCode, startedAt, finishedAt: now, reason: ended.reason };
  const condition = (type: string, isTrue: boolean) => ({
    type,
    status: isTrue ? 'True' : 'False',
    lastTransitionTime: now,
  });
  const [container] = pod.spec.containers;
  const status = {
    name: container?.name,
    image: container?.image,
    imageID: '',
    restartCount: 0,
    started: exitCode === undefined,
    ready: isReady,
    state: hasEnded ? { terminated } : waiting,
  };
  await api.must('PATCH', `${podPath(pod)}/status`, {
    status: {
      phase: hasEnded ? ended.phase : 'Running',
      startTime: startedAt,
      podIP: ip,
      podIPs: [{ ip }],
      conditions: [
        condition('PodScheduled', true),
        condition('Initialized', true),
        condition('ContainersReady', isReady),
        condition('Ready', isReady),
      ],
      containerStatuses: [status],
    },
  });
}

async function remove(api: Api, pod: Pod): Promise<void> {
  const body = { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } };
  const { status } = await api.send('DELETE', podPath(pod), body);
  // 404 and 409: it is gone, or another has its name already.
  if (status >= 300 && status !== 404 && status !== 409)
    throw new Error(`the Pod ${pod.metadata.name} cannot be removed: ${status}`);
}

const podPath = ({ metadata }: Named): string => pathOf(PODS, metadata.namespace, metadata.name);
