import { RollcallError } from '../errors.ts';

/** The index of `name` (tenant and collection) is not where this process left it. */
export function indexDiverged(name: string): RollcallError {
  return new RollcallError('INDEX_DIVERGED', `the index of ${name} is not where this process left it`, {
    remedy:
      'Nothing: it is caught up from the topics. If it happens often, look for failovers, flushes or restores of Redis, ' +
      'or for another process on this tenant and key prefix.',
  });
}

/** More changes at once than one command to Redis may carry. */
export function tooManyChanges(name: string, most: number): RollcallError {
  return new RollcallError('INTERNAL', `more than ${most} changes at once for the index of ${name}`, {
    remedy: 'Report this: transactions are bounded well below that.',
  });
}
