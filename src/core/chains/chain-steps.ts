import type { ChainNode } from './chain-node.ts';
import type { ChainShape } from './chain-shape.ts';
import type { AbsenceEntry } from './knowledge.ts';

/** One event of `absence-changes`, without its records, `snapshot` and `detectedAt`. */
export interface ChainStep {
  readonly absenceId: string;
  /** 1, 2, … per absence */
  readonly step: number;
  readonly operation: 'CREATED' | 'REPLACED' | 'DELETED' | 'RESTORED';
  readonly versionId: string;
  /** The version told before, where it is another one. */
  readonly previousVersionId: string | null;
  readonly cause: 'HUB' | 'VANISHED' | 'MERGED';
  readonly mergedInto: string | null;
}

/** What consumers know of an absence after some steps. */
interface Told {
  readonly step: number;
  readonly versionId: string | null;
  readonly isDeleted: boolean;
}

/**
 * The steps from what was told to what is; rules 7 to 11 of the design note in resolve.ts.
 *
 * @returns none if the two are the same
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
  let told: Told = {
    step: before?.step ?? 0,
    versionId: before?.toldVersionId ?? null,
    isDeleted: before?.isToldDeleted ?? false,
  };
  const hasLeft = (id: string): boolean => !parts.isAtHub(id);
  const say = (operation: ChainStep['operation'], versionId: string, cause: ChainStep['cause']): void => {
    steps.push({
      absenceId: parts.absenceId,
      step: told.step + 1,
      operation,
      versionId,
      previousVersionId: told.versionId === versionId ? null : told.versionId,
      cause,
      mergedInto: null,
    });
    told = { step: told.step + 1, versionId, isDeleted: operation === 'DELETED' };
  };
  const next = versionsToTell(parts);
  for (const version of next.versions) {
    if (told.versionId === null) say('CREATED', version.id, 'HUB');
    else if (told.isDeleted) say('RESTORED', version.id, 'HUB');
    else say('REPLACED', version.id, next.isBackwards && hasLeft(told.versionId) ? 'VANISHED' : 'HUB');
  }
  const isGone = shape.tail === null || shape.tail.isDeleted;
  if (isGone && told.versionId !== null && !told.isDeleted) {
    const version = shape.tail?.state === 'present' ? shape.tail.id : told.versionId;
    say('DELETED', version, hasLeft(told.versionId) ? 'VANISHED' : 'HUB');
  }
  return steps;
}

function versionsToTell(parts: {
  before: AbsenceEntry | null;
  shape: ChainShape;
  nodes: readonly ChainNode[];
}): { versions: readonly ChainNode[]; isBackwards: boolean } {
  const { before } = parts;
  const { path, tail } = parts.shape;
  if (tail === null) return { versions: [], isBackwards: false };
  const present = path.filter((node) => node.state === 'present');
  if (before === null) {
    const wasTold = parts.nodes.some(isSettled);
    const versions = wasTold ? present.filter(isNew) : present;
    return { versions: withTail(versions, tail), isBackwards: false };
  }
  // What was merged and lives again tells nothing twice that was told of the other one.
  const index = before.mergedInto === null ? path.findIndex(({ id }) => id === before.toldVersionId) : -1;
  if (index >= 0) {
    const versions = path.slice(index + 1).filter((node) => node.state === 'present');
    const isSame = versions.length === 0 && before.toldVersionId === tail.id && !before.isToldDeleted;
    return { versions: isSame ? [] : withTail(versions, tail), isBackwards: false };
  }
  const fresh = present.filter(isNew);
  return { versions: withTail(fresh, tail), isBackwards: fresh.length === 0 };
}

/** A live tail is always told in the end; a deleted one that is not new needs only its deletion told. */
function withTail(versions: readonly ChainNode[], tail: ChainNode): readonly ChainNode[] {
  if (tail.state !== 'present' || tail.isDeleted) return versions;
  return versions.at(-1) === tail ? versions : [...versions, tail];
}

/** Its chain was published before, with this version in account. */
export function isSettled({ before }: ChainNode): boolean {
  if (before === null || (before.state !== 'present' && before.state !== 'vanished')) return false;
  return before.isSettled || before.absenceId !== null;
}

function isNew(node: ChainNode): boolean {
  return !isSettled(node);
}
