import { RollcallError } from '../errors.ts';

/** The error for an index that is not at the expected position. `name` is tenant and collection. */
export function indexDiverged(name: string): RollcallError {
  return new RollcallError('INDEX_DIVERGED', `the index of ${name} has changed since this process wrote it`, {
    remedy:
      'There is nothing to do: Rollcall brings the index up to date from the topics. If it happens often, check for ' +
      'failovers, flushes or restores of Redis, and for another process with this tenant and key prefix.',
  });
}

/** The error for more changes than one Redis command may have. */
export function tooManyChanges(name: string, most: number): RollcallError {
  return new RollcallError('INTERNAL', `one write to the index of ${name} has more than ${most} changes`, {
    remedy: 'Report this: transactions are bounded well below that number.',
  });
}
