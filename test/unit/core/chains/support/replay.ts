import type { ChainStep } from '../../../../../src/core/chains/chain-steps.ts';

/** The state of one absence for a consumer that knows only `absence-changes`. */
export interface Believed {
  step: number;
  versionId: string;
  isDeleted: boolean;
  /** The versions that were published as current, in order. */
  readonly publishedIds: string[];
}

/** Reads the events as a careful consumer does. @throws Error for an event that cannot follow the one before */
export function replay(steps: readonly ChainStep[]): Map<string, Believed> {
  const believed = new Map<string, Believed>();
  for (const step of steps) {
    const before = believed.get(step.absenceId);
    const fail = (why: string): never => {
      throw new Error(`${why}: ${JSON.stringify(step)} after ${JSON.stringify(before)}`);
    };
    if (step.step !== (before?.step ?? 0) + 1) fail('a step is missing or was published twice');
    if ((step.operation === 'CREATED') !== (before === undefined)) fail('CREATED is not the first step');
    if ((step.operation === 'RESTORED') !== (before?.isDeleted ?? false))
      fail('only the deleted is restored');
    if (step.operation === 'REPLACED' && step.versionId === before?.versionId) fail('replaced by itself');
    if ((step.cause === 'MERGED') !== (step.mergedInto !== null)) fail('MERGED into what');
    const previous = before === undefined || before.versionId === step.versionId ? null : before.versionId;
    if (step.previousVersionId !== previous) fail('another version came before');
    const publishedIds = before?.publishedIds ?? [];
    if (step.operation !== 'DELETED') publishedIds.push(step.versionId);
    believed.set(step.absenceId, {
      step: step.step,
      versionId: step.versionId,
      isDeleted: step.operation === 'DELETED',
      publishedIds,
    });
  }
  return believed;
}
