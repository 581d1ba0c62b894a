import type { Admin } from 'kafkajs';
import { RollcallError } from '../../errors.ts';
import { kafkaError } from '../../log/kafka-errors.ts';
import type { ProgressLine } from '../progress-line.ts';
import { countOf } from '../../core/words.ts';

/** Two minutes in all, for a cluster that is busy or is restarting its brokers. */
const ATTEMPTS = 600;
const BETWEEN_ATTEMPTS_MS = 200;

export interface WaitParts {
  readonly admin: Pick<Admin, 'listTopics'>;
  readonly progress: Pick<ProgressLine, 'update'>;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Waits until no deleted topic is listed: brokers still list a topic for a moment after the controller has deleted it.
 * Throws `KAFKA_UNREACHABLE` when they do not stop: whether the topics are deleted is then unknown.
 */
export async function waitUntilGone(names: readonly string[], parts: WaitParts): Promise<void> {
  const { admin, progress, sleep, signal } = parts;
  for (let attempt = 1; ; attempt += 1) {
    const listed = new Set(await listTopics(admin));
    const remaining = names.filter((name) => listed.has(name));
    const [first] = remaining;
    if (first === undefined) return;
    if (attempt === ATTEMPTS) throw stillListed(first, remaining.length);
    progress.update(`waiting until no broker lists ${countOf(remaining.length, 'topic')} any more`);
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
