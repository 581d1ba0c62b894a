import type { Admin } from 'kafkajs';
import { RollcallError } from '../../errors.ts';
import { kafkaError } from '../../log/kafka-errors.ts';
import type { ProgressLine } from '../progress-line.ts';
import { countOf } from '../words.ts';

/** A cluster that is busy, or whose brokers are just being started again, takes its time. */
const ATTEMPTS = 600;
const BETWEEN_ATTEMPTS_MS = 200;

export interface WaitParts {
  readonly admin: Pick<Admin, 'listTopics'>;
  readonly progress: Pick<ProgressLine, 'update'>;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * The controller has forgotten topics that were deleted; brokers go on telling of them for a moment. Throws
 * `KAFKA_UNREACHABLE` where that moment does not end: whether they are gone is not known then.
 */
export async function waitUntilGone(names: readonly string[], parts: WaitParts): Promise<void> {
  const { admin, progress, sleep, signal } = parts;
  for (let attempt = 1; ; attempt += 1) {
    const listed = new Set(await listTopics(admin));
    const left = names.filter((name) => listed.has(name));
    const [first] = left;
    if (first === undefined) return;
    if (attempt === ATTEMPTS) throw stillListed(first, left.length);
    progress.update(`waiting until the brokers have forgotten ${countOf(left.length, 'topic')}`);
    await sleep(BETWEEN_ATTEMPTS_MS, signal);
  }
}

async function listTopics(admin: WaitParts['admin']): Promise<readonly string[]> {
  try {
    return await admin.listTopics();
  } catch (error) {
    throw kafkaError(error, 'listing topics');
  }
}

function stillListed(first: string, count: number): RollcallError {
  const others = count === 1 ? '' : ` and ${countOf(count - 1, 'other')}`;
  const seconds = (ATTEMPTS * BETWEEN_ATTEMPTS_MS) / 1_000;
  return new RollcallError(
    'KAFKA_UNREACHABLE',
    `${first}${others} were deleted, and are still listed after ${seconds} s`,
    { remedy: 'Check that all brokers are up and follow their controller, and give the command again.' },
  );
}
