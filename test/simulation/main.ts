import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { KINDS, MUTATIONS } from './run/kinds.ts';
import type { WorkerMessage, WorkerTask } from './run/worker.ts';

/*
 * Plays random histories of the real pipeline among simulated parts, on every core, and checks the invariants of
 * docs/invariants.md after each. Exit 1 on a violation, 2 on bad use.
 */

/** Some five minutes on two cores. */
const MANY = 10_000;
const USAGE = `npm run test:simulation [-- options]
  --histories N  how many (default ${MANY}): with --seed always the same ones
  --kind K       only this kind, may be given more than once: ${KINDS.map(({ name }) => name).join(', ')}
  --seed N       with one kind: play this one history; otherwise: begin here
  --mutate       plant mistakes, and check that each is found
`;
const WORKERS = availableParallelism();
const LINE_EVERY_MS = 10_000;
const PROBLEMS_SHOWN = 8;
const LONGEST_PROBLEM = 100;

type Options = ReturnType<typeof readOptions>;

function readOptions() {
  const { values } = parseArgs({
    options: {
      histories: { type: 'string' },
      kind: { type: 'string', multiple: true, default: [] },
      seed: { type: 'string' },
      mutate: { type: 'boolean', default: false },
    },
  });
  const { kind: kinds, mutate } = values;
  const isOne = kinds.length === 1 && values.seed !== undefined;
  const histories = Number(values.histories ?? (isOne ? 1 : MANY));
  const seed = Number(values.seed ?? Date.now() % 1_000_000_000);
  if (
    [histories, seed].some((each) => Number.isNaN(each)) ||
    kinds.some((kind) => !KINDS.some(({ name }) => name === kind))
  )
    throw new Error('an unknown kind, or no number');
  return { histories, kinds, seed, mutate };
}

/** Progress goes to standard error, so that a program can read the outcome. */
function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Gives a task to each core, made by its number. */
async function runAll(
  taskOf: (worker: number) => Partial<WorkerTask>,
  onMessage: (message: WorkerMessage) => void,
): Promise<void> {
  const idle: WorkerTask = { mutations: [], kinds: [], firstSeed: 0, stride: 1, endSeed: 0 };
  const runs = Array.from({ length: WORKERS }, (_, number) => {
    const workerData = { ...idle, ...taskOf(number) };
    const worker = new Worker(new URL('./run/worker.ts', import.meta.url), { workerData });
    return new Promise<void>((resolve, reject) => {
      worker.on('message', onMessage);
      worker.on('error', reject);
      worker.on('exit', (code) =>
        code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`)),
      );
    });
  });
  await Promise.all(runs);
}

async function playMany({ kinds, histories, seed }: Options): Promise<boolean> {
  const startedAtMs = Date.now();
  const played = new Map<string, number>();
  const happened = new Map<string, number>();
  let violations = 0;
  const line = (): string => {
    const total = played.values().reduce((sum, count) => sum + count, 0);
    return `${Math.round((Date.now() - startedAtMs) / 1000)} s: ${total} histories, ${violations} with violations`;
  };
  const timer = setInterval(() => say(line()), LINE_EVERY_MS);
  say(`seeds from ${seed} on, ${WORKERS} workers`);
  const taskOf = (worker: number): Partial<WorkerTask> => ({
    kinds,
    stride: WORKERS,
    firstSeed: seed + worker,
    endSeed: seed + histories,
  });
  await runAll(taskOf, (message) => {
    if (!('kind' in message)) return;
    const { kind, problems } = message;
    played.set(kind, (played.get(kind) ?? 0) + 1);
    for (const [what, times] of message.happened) happened.set(what, (happened.get(what) ?? 0) + times);
    if (problems.length === 0) return;
    violations += 1;
    say(`  ${problems.length} problems: npm run test:simulation -- --kind ${kind} --seed ${message.seed}`);
    for (const problem of problems.slice(0, PROBLEMS_SHOWN)) say(`    ${problem}`);
  });
  clearInterval(timer);
  const table = (counts: ReadonlyMap<string, number>): string[] =>
    [...counts]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, count]) => `${String(count).padStart(9)}  ${name}`);
  const summary = ['Histories:', ...table(played), 'What happened in them:', ...table(happened), line()];
  process.stdout.write(`${summary.join('\n')}\n`);
  return violations === 0 && played.size > 0;
}

async function tryMutations({ kinds }: Options): Promise<boolean> {
  const chosen = [...MUTATIONS.entries()]
    .filter(([, { kind }]) => kinds.length === 0 || kinds.includes(kind))
    .map(([mutation]) => mutation);
  let tried = 0;
  let found = 0;
  const mutationsOf = (worker: number) => chosen.filter((_, at) => at % WORKERS === worker);
  await runAll(
    (worker) => ({ mutations: mutationsOf(worker) }),
    (message) => {
      if (!('mutation' in message)) return;
      const { mutation, histories, problem } = message;
      tried += 1;
      if (problem !== null) found += 1;
      const how = problem === null ? 'NOT FOUND' : problem.slice(0, LONGEST_PROBLEM);
      say(`${tried} of ${chosen.length}: ${MUTATIONS[mutation]?.name}: after ${histories}: ${how}`);
    },
  );
  process.stdout.write(`${found} of ${chosen.length} planted mistakes found\n`);
  return found === chosen.length;
}

async function main(): Promise<number> {
  let options: Options;
  try {
    options = readOptions();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : ''}\n${USAGE}`);
    return 2;
  }
  return (await (options.mutate ? tryMutations : playMany)(options)) ? 0 : 1;
}

process.exitCode = await main();
