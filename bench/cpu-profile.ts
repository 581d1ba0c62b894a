import { Session, type Profiler } from 'node:inspector/promises';

/** The parts that use the CPU time of a sync. */
export const PARTS = [
  'http',
  'json',
  'read+hash',
  'index',
  'sync',
  'chains',
  'avro',
  'kafka',
  'garbage collection',
  'rest',
] as const;
export type Part = (typeof PARTS)[number];

const SAMPLE_EVERY_MICROS = 250;

/** The first pattern that matches the file of a function decides. */
const PART_OF_FILE: readonly (readonly [RegExp, Part])[] = [
  [/\/src\/(hub\/hub-answer|core\/rows\/lossless-json)\.ts$/, 'json'],
  [/\/src\/core\/(rows\/(?!compare-with-published)|avro\/avro-writer)/, 'read+hash'],
  [/\/src\/(core\/)?absences\//, 'chains'],
  [/\/src\/core\/avro\/value-codec\.ts$|\/node_modules\/avsc\//, 'avro'],
  [/\/src\/state\/|\/node_modules\/(ioredis|@ioredis|redis-parser|standard-as-callback|denque)\//, 'index'],
  // What writes texts for Avro and for Kafka counts for its caller.
  [/\/src\/(sync|table|source|core\/(?!avro\/))/, 'sync'],
  [/\/src\/log\/|\/node_modules\/kafkajs\//, 'kafka'],
  [/\/src\/hub\/|\/node_modules\/(undici|cockatiel)\//, 'http'],
];

/** Profiles the main thread of this process during some work. */
export async function recordProfile(work: () => Promise<unknown>): Promise<Profiler.Profile> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_MICROS });
    await session.post('Profiler.start');
    await work();
    return (await session.post('Profiler.stop')).profile;
  } finally {
    session.disconnect();
  }
}

/**
 * Shares of the busy time of the main thread; they add up to 1. The work of Node and V8 counts for their caller; work without
 * a caller (sockets, timers) is the rest.
 */
export function sharesOf(profile: Profiler.Profile): Record<Part, number> {
  const parts = partsByNode(profile);
  const micros = Object.fromEntries(PARTS.map((part) => [part, 0])) as Record<Part, number>;
  let busy = 0;
  for (const [index, id] of (profile.samples ?? []).entries()) {
    const part = parts.get(id) ?? null;
    // A sample stands for the time until the next one.
    const lasted = profile.timeDeltas?.[index + 1] ?? 0;
    if (part === null) continue;
    micros[part] += lasted;
    busy += lasted;
  }
  for (const part of PARTS) micros[part] /= busy;
  return micros;
}

/** Null for idle time. */
function partsByNode(profile: Profiler.Profile): Map<number, Part | null> {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parts = new Map<number, Part | null>();
  const visit = (node: Profiler.ProfileNode, inherited: Part): void => {
    const part = partOf(node, inherited);
    parts.set(node.id, part);
    for (const child of node.children ?? []) {
      const next = nodes.get(child);
      if (next !== undefined) visit(next, part ?? 'rest');
    }
  };
  const [root] = profile.nodes;
  if (root !== undefined) visit(root, 'rest');
  return parts;
}

function partOf({ callFrame }: Profiler.ProfileNode, inherited: Part): Part | null {
  const { functionName, url } = callFrame;
  if (functionName === '(idle)') return null;
  if (functionName === '(garbage collector)') return 'garbage collection';
  return PART_OF_FILE.find(([pattern]) => pattern.test(url))?.[1] ?? inherited;
}
