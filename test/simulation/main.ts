import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { KINDS, MUTATIONS } from './run/kinds.ts';
import type { Caught, WorkerMessage, WorkerTask } from './run/protocol.ts';
import { mutationLines, progressLine, summaryLines, violationLines, type Tally } from './run/report.ts';

/*
 * Plays random histories of the real pipeline among simulated parts, on every core, and checks the invariants of
 * docs/invariants.md after each. Exit 1 on a violation, 2 on bad use.
 */

const USAGE = `npm run test:simulation [-- options]
  --minutes N    for how long (default 10)
  --histories N  how many, instead of for how long: with --seed always the same ones
  --kind K       only this kind, may be given more than once: ${KINDS.map(({ name }) => name).join(', ')}
  --seed N       with one kind: play this one history and say what happened in it; otherwise: begin here
  --workers N    default: one for each core
  --mutate       plant mistakes, and check that each is caught
`;
/** A planted mistake does not show in every history. */
const HISTORIES_A_MUTATION = 1_000;
const LINE_EVERY_MS = 10_000;

interface Options {
  readonly minutes: number;
  /** Null: as many as the minutes allow. */
  readonly histories: number | null;
  readonly kinds: readonly string[];
  readonly seed: number | null;
  readonly workers: number;
  readonly mutate: boolean;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      histories: { type: 'string' },
      kind: { type: 'string', multiple: true, default: [] },
      seed: { type: 'string' },
      workers: { type: 'string', default: String(availableParallelism()) },
      mutate: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) throw new Error('');
  const unknown = values.kind.filter((kind) => KINDS.every(({ name }) => name !== kind));
  if (unknown.length > 0) throw new Error(`unknown kind: ${unknown.join(', ')}`);
  const number = (name: string, text: string): number => {
    const value = Number(text);
    if (!Number.isFinite(value) || value < 0) throw new Error(`--${name} is not a number`);
    return value;
  };
  return {
    minutes: number('minutes', values.minutes),
    histories: values.histories === undefined ? null : number('histories', values.histories),
    kinds: values.kind,
    seed: values.seed === undefined ? null : number('seed', values.seed),
    workers: Math.max(1, number('workers', values.workers)),
    mutate: values.mutate,
  };
}

/** Progress goes to standard error, so that a program can read the outcome. */
function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function runWorker(task: WorkerTask, onMessage: (message: WorkerMessage) => void): Promise<void> {
  const worker = new Worker(new URL('./run/worker.ts', import.meta.url), { workerData: task });
  return new Promise((resolve, reject) => {
    worker.on('message', onMessage);
    worker.on('error', reject);
    worker.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`))));
  });
}

async function playMany(options: Options): Promise<number> {
  const startedAtMs = Date.now();
  const firstSeed = options.seed ?? startedAtMs % 1_000_000_000;
  const tally: Tally = { histories: new Map(), happened: new Map(), violations: [] };
  const extent = options.histories === null ? `${options.minutes} minutes` : `${options.histories} histories`;
  say(`seeds from ${firstSeed} on, ${options.workers} workers, ${extent}`);
  const elapsedMs = (): number => Date.now() - startedAtMs;
  const timer = setInterval(() => say(progressLine(tally, elapsedMs(), options.workers)), LINE_EVERY_MS);
  const workers = Array.from({ length: options.workers }, (_, worker) =>
    runWorker(
      {
        task: 'histories',
        kinds: options.kinds,
        firstSeed: firstSeed + worker,
        stride: options.workers,
        endSeed: firstSeed + (options.histories ?? Infinity),
        untilMs: options.histories === null ? startedAtMs + options.minutes * 60_000 : Infinity,
        withKnownSeeds: worker === 0,
      },
      (message) => {
        if (message.type !== 'played') return;
        addTo(tally.histories, message.histories);
        addTo(tally.happened, message.happened);
        tally.violations.push(...message.violations);
        for (const violation of message.violations) say(violationLines(violation).join('\n'));
      },
    ),
  );
  try {
    await Promise.all(workers);
  } finally {
    clearInterval(timer);
  }
  process.stdout.write(`${summaryLines(tally, elapsedMs(), options.workers).join('\n')}\n`);
  return tally.violations.length > 0 || tally.histories.size === 0 ? 1 : 0;
}

function addTo(counts: Map<string, number>, more: Readonly<Record<string, number>>): void {
  for (const [what, times] of Object.entries(more)) counts.set(what, (counts.get(what) ?? 0) + times);
}

async function playOne(kindName: string, seed: number): Promise<number> {
  const kind = KINDS.find(({ name }) => name === kindName);
  const { problems, happened } = (await kind?.play(seed)) ?? { problems: [], happened: new Map() };
  const tally = {
    histories: new Map([[kindName, 1]]),
    happened: new Map(happened),
    violations: problems.length > 0 ? [{ kind: kindName, seed, problems }] : [],
  };
  process.stdout.write(`${summaryLines(tally, 0, 1).slice(0, -1).join('\n')}\n`);
  process.stdout.write(problems.length > 0 ? '' : 'no violation\n');
  return problems.length > 0 ? 1 : 0;
}

async function tryMutations(options: Options): Promise<number> {
  const chosen = [...MUTATIONS.keys()].filter(
    (index) => options.kinds.length === 0 || options.kinds.includes(MUTATIONS[index]?.kind ?? ''),
  );
  const caught = new Map<number, Caught>();
  await Promise.all(
    Array.from({ length: options.workers }, (_, worker) =>
      runWorker(
        {
          task: 'mutations',
          indexes: chosen.filter((_index, at) => at % options.workers === worker),
          most: HISTORIES_A_MUTATION,
        },
        (message) => {
          if (message.type !== 'caught') return;
          caught.set(message.caught.index, message.caught);
          const { index, histories, problem } = message.caught;
          const outcome = problem === null ? 'NOT CAUGHT' : 'caught';
          say(`${caught.size} of ${chosen.length}: ${outcome} after ${histories}: ${MUTATIONS[index]?.name}`);
        },
      ),
    ),
  );
  const tried = chosen.map((index) => ({
    name: MUTATIONS[index]?.name ?? '',
    kind: MUTATIONS[index]?.kind ?? '',
    histories: caught.get(index)?.histories ?? 0,
    problem: caught.get(index)?.problem ?? null,
  }));
  process.stdout.write(`${mutationLines(tried).join('\n')}\n`);
  return tried.every(({ problem }) => problem !== null) ? 0 : 1;
}

async function main(): Promise<number> {
  let options: Options;
  try {
    options = readOptions();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : ''}\n${USAGE}`);
    return 2;
  }
  const [kind] = options.kinds;
  if (options.mutate) return tryMutations(options);
  if (kind !== undefined && options.kinds.length === 1 && options.seed !== null)
    return playOne(kind, options.seed);
  return playMany(options);
}

process.exitCode = await main();
