import { parentPort, workerData } from 'node:worker_threads';
import { KINDS, MUTATIONS } from './kinds.ts';
import { KNOWN_SEEDS } from './known-seeds.ts';
import type { Violation, WorkerMessage, WorkerTask } from './protocol.ts';
import { firstCatch, type Kind } from './played.ts';

const REPORT_EVERY_MS = 500;

const send = (message: WorkerMessage): void => parentPort?.postMessage(message, []);

async function playHistories(task: Extract<WorkerTask, { task: 'histories' }>): Promise<void> {
  const kinds = KINDS.filter(({ name }) => task.kinds.length === 0 || task.kinds.includes(name));
  const turns = kinds.flatMap((kind) => Array.from({ length: kind.parts }, () => kind));
  const tally = new Tally();
  if (task.withKnownSeeds) {
    for (const { kind, seed } of KNOWN_SEEDS) {
      const known = kinds.find(({ name }) => name === kind);
      if (known !== undefined) await tally.play(known, seed);
    }
  }
  // Only the seed decides on the kind, so that the number of workers changes nothing.
  for (let seed = task.firstSeed; seed < task.endSeed && Date.now() < task.untilMs; seed += task.stride) {
    const kind = turns[seed % turns.length];
    if (kind !== undefined) await tally.play(kind, seed);
  }
  tally.hand();
}

class Tally {
  #histories: Record<string, number> = {};
  #happened: Record<string, number> = {};
  #violations: Violation[] = [];
  #handedAtMs = Date.now();

  async play(kind: Kind, seed: number): Promise<void> {
    const { problems, happened } = await kind.play(seed);
    this.#histories[kind.name] = (this.#histories[kind.name] ?? 0) + 1;
    for (const [what, times] of happened) this.#happened[what] = (this.#happened[what] ?? 0) + times;
    if (problems.length > 0) this.#violations.push({ kind: kind.name, seed, problems });
    if (problems.length > 0 || Date.now() - this.#handedAtMs > REPORT_EVERY_MS) this.hand();
  }

  hand(): void {
    send({
      type: 'played',
      histories: this.#histories,
      happened: this.#happened,
      violations: this.#violations,
    });
    this.#histories = {};
    this.#happened = {};
    this.#violations = [];
    this.#handedAtMs = Date.now();
  }
}

async function tryMutations({ indexes, most }: Extract<WorkerTask, { task: 'mutations' }>): Promise<void> {
  for (const index of indexes) {
    const mutation = MUTATIONS[index];
    if (mutation === undefined) continue;
    send({ type: 'caught', caught: { index, ...(await firstCatch(mutation, most)) } });
  }
}

const task = workerData as WorkerTask;
await (task.task === 'histories' ? playHistories(task) : tryMutations(task));
