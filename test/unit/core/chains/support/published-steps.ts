import type { ChainShell } from './chain-shell.ts';

/** The events from index `from` on, in short: `absence#step OPERATION before>version CAUSE`. */
export function publishedSteps(shell: ChainShell, from = 0): string[] {
  return shell.steps
    .slice(from)
    .map(
      ({ absenceId, step, operation, previousVersionId, versionId, cause, mergedInto }) =>
        `${absenceId}#${step} ${operation} ${previousVersionId ?? '-'}>${versionId} ${cause}${mergedInto === null ? '' : ` into ${mergedInto}`}`,
    );
}
