import type { ChainNode } from './chain-node.ts';
import type { ChainShape } from './chain-shape.ts';
import type { AbsenceEntry } from './chain-state.ts';

/** One event of `absence-changes`, without its records, `snapshot` and `detectedAt`. */
export interface ChainStep {
  readonly absenceId: string;
  /** Numbered from 1 for each absence. */
  readonly step: number;
  readonly operation: 'CREATED' | 'REPLACED' | 'DELETED' | 'RESTORED';
  readonly versionId: string;
  /** The version published before, if it differs from `versionId`. */
  readonly previousVersionId: string | null;
  readonly cause: 'HUB' | 'VANISHED' | 'MERGED';
  readonly mergedInto: string | null;
}

/** The state of an absence that consumers see after some steps. */
interface Published {
  readonly step: number;
  readonly versionId: string | null;
  readonly isDeleted: boolean;
}

/**
 * The steps that lead from the published state to the current chain (rules 7 to 11 in chain-rules.ts).
 *
 * @returns no steps if the two are equal
 */
export function stepsOf(parts: {
  absenceId: string;
  before: AbsenceEntry | null;
  shape: ChainShape;
  nodes: readonly ChainNode[];
  isAtHub: (versionId: string) => boolean;
}): readonly ChainStep[] {
  const { before, shape } = parts;
  const steps: ChainStep[] = [];
  let published: Published = {
    step: before?.step ?? 0,
    versionId: before?.publishedVersionId ?? null,
    isDeleted: before?.isPublishedAsDeleted ?? false,
  };
  const hasDeparted = (id: string): boolean => !parts.isAtHub(id);
  const emit = (operation: ChainStep['operation'], versionId: string, cause: ChainStep['cause']): void => {
    steps.push({
      absenceId: parts.absenceId,
      step: published.step + 1,
      operation,
      versionId,
      previousVersionId: published.versionId === versionId ? null : published.versionId,
      cause,
      mergedInto: null,
    });
    published = { step: published.step + 1, versionId, isDeleted: operation === 'DELETED' };
  };
  const next = versionsToPublish(parts);
  for (const version of next.versions) {
    if (published.versionId === null) emit('CREATED', version.id, 'HUB');
    else if (published.isDeleted) emit('RESTORED', version.id, 'HUB');
    else
      emit('REPLACED', version.id, next.isBackwards && hasDeparted(published.versionId) ? 'VANISHED' : 'HUB');
  }
  const isEnded = shape.tail === null || shape.tail.isDeleted;
  if (isEnded && published.versionId !== null && !published.isDeleted) {
    const version = shape.tail?.state === 'present' ? shape.tail.id : published.versionId;
    emit('DELETED', version, hasDeparted(published.versionId) ? 'VANISHED' : 'HUB');
  }
  return steps;
}

function versionsToPublish(parts: {
  before: AbsenceEntry | null;
  shape: ChainShape;
  nodes: readonly ChainNode[];
}): { versions: readonly ChainNode[]; isBackwards: boolean } {
  const { before } = parts;
  const { path, tail } = parts.shape;
  if (tail === null) return { versions: [], isBackwards: false };
  const present = path.filter((node) => node.state === 'present');
  if (before === null) {
    const wasPublished = parts.nodes.some(isResolved);
    const versions = wasPublished ? present.filter(isNew) : present;
    return { versions: withTail(versions, tail), isBackwards: false };
  }
  // An absence that was merged and is live again does not repeat what the other absence published.
  const index =
    before.mergedInto === null ? path.findIndex(({ id }) => id === before.publishedVersionId) : -1;
  if (index >= 0) {
    const versions = path.slice(index + 1).filter((node) => node.state === 'present');
    const isSame =
      versions.length === 0 && before.publishedVersionId === tail.id && !before.isPublishedAsDeleted;
    return { versions: isSame ? [] : withTail(versions, tail), isBackwards: false };
  }
  const fresh = present.filter(isNew);
  return { versions: withTail(fresh, tail), isBackwards: fresh.length === 0 };
}

/** Appends the tail if it is live, so that the last event always shows it. A deleted tail needs only its deletion. */
function withTail(versions: readonly ChainNode[], tail: ChainNode): readonly ChainNode[] {
  if (tail.state !== 'present' || tail.isDeleted) return versions;
  return versions.at(-1) === tail ? versions : [...versions, tail];
}

/** Whether the chain was published before with this version taken into account. */
export function isResolved({ before }: ChainNode): boolean {
  if (before === null || (before.state !== 'present' && before.state !== 'vanished')) return false;
  return before.isResolved || before.absenceId !== null;
}

function isNew(node: ChainNode): boolean {
  return !isResolved(node);
}
