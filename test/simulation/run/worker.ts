import { parentPort, workerData } from 'node:worker_threads';
import type { Played } from '../tenants/tenant-history.ts';
import { firstCatch, KINDS, MUTATIONS } from './kinds.ts';

/** What one of the cores does. */
export interface WorkerTask {
  /** Places of mistakes that are tried. */
  readonly mutations: readonly number[];
  /** Names of kinds, or none for all. */
  readonly kinds: readonly string[];
  readonly firstSeed: number;
  /** Every nth seed is played. */
  readonly stride: number;
  /** The first seed that is not played. */
  readonly endSeed: number;
}

export type WorkerMessage =
  | ({ readonly kind: string; readonly seed: number } & Played)
  /** `problem` null: the mistake was not found. */
  | { readonly mutation: number; readonly histories: number; readonly problem: string | null };

/** A planted mistake does not show in every history. */
const HISTORIES_A_MUTATION = 3_000;

const send = (message: WorkerMessage): void => parentPort?.postMessage(message, []);

// Histories throw thousands of errors on purpose, and nobody reads where.
Error.stackTraceLimit = 0;
const task = workerData as WorkerTask;
for (const mutation of task.mutations) {
  const planted = MUTATIONS[mutation];
  if (planted !== undefined) send({ mutation, ...(await firstCatch(planted, HISTORIES_A_MUTATION)) });
}
const kinds = KINDS.filter(({ name }) => task.kinds.length === 0 || task.kinds.includes(name));
const turns = kinds.flatMap((kind) => Array.from({ length: kind.parts }, () => kind));
// Only the seed decides on the kind, so that the number of workers changes nothing.
for (let seed = task.firstSeed; seed < task.endSeed; seed += task.stride) {
  const kind = turns[seed % turns.length];
  if (kind !== undefined) send({ kind: kind.name, seed, ...(await kind.play(seed)) });
}
