import type { CollectionStatus } from './collection-status.ts';
import type { NotReady } from './parts.ts';
import { incompleteCollections, named } from './tenant-state.ts';

/** Why the copy itself is not what the configuration promises, although every part may work. */
export function copyReasons(tenant: string, collections: readonly CollectionStatus[]): NotReady[] {
  const reasons: NotReady[] = [];
  const { incomplete } = incompleteCollections(collections);
  if (incomplete.length > 0) {
    reasons.push({
      part: 'load',
      tenant,
      why: `never loaded completely: ${named(incomplete.map(({ collection }) => collection))}`,
      remedy: 'Wait for the first load; the status page and the log show how far it is.',
    });
  }
  for (const part of ['full', 'watermark'] as const) {
    const late = collections.filter(({ lateBy }) => lateBy === part);
    const [first] = late;
    if (first === undefined) continue;
    const which = named(late.map(({ collection }) => collection));
    reasons.push({
      part,
      tenant,
      why: `${which}: ${first.late ?? ''}`,
      remedy: 'The log says why the syncs fail; "rollcall pull" reads again at once.',
    });
  }
  return reasons;
}
