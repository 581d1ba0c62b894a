import type { ChainGraph, ChainNode } from './chain-node.ts';
import { PLACEHOLDER_REFERENCES, isKnownPlaceholder } from './placeholder-ids.ts';
import { isResolved } from './chain-steps.ts';
import type { VersionEntry } from './chain-state.ts';

/** The changed index entries of the versions of a resolution; null for an id that nothing refers to any more. */
export function changedVersions(
  graph: ChainGraph,
  outcome: {
    /** Absence id by component; null if nothing was published. */
    names: readonly (string | null)[];
    /** Components to resolve again, and from which versions. */
    pending: ReadonlyMap<number, 'touched' | 'all'>;
    /** Absence id by deferred component, for those of its versions that are forgotten. */
    forgottenNames: ReadonlyMap<number, string>;
  },
): Map<string, VersionEntry | null> {
  const changes = new Map<string, VersionEntry | null>();
  const linkedFrom = backLinks(graph);
  const linksOf = (id: string, before: VersionEntry | null): string[] => {
    const links = linkedFrom.get(id) ?? [];
    return graph.placeholders.has(id) ? placeholderLinks(before, links) : links.sort();
  };
  const note = (id: string, before: VersionEntry | null, after: VersionEntry | null): void => {
    if (!isSame(before, after)) changes.set(id, after);
  };
  for (const node of graph.known.values()) {
    const deferred = outcome.pending.get(node.component);
    const isKept = deferred === 'touched' && !node.isTouched && node.before?.isResolved === true;
    // Only this id distinguishes an unresolved forgotten version from one that was never published.
    const forgottenName = !isKept && isForgotten(node) ? outcome.forgottenNames.get(node.component) : null;
    const name = outcome.names[node.component] ?? forgottenName ?? null;
    note(node.id, node.before, {
      state: node.state,
      replaces: node.replaces,
      replacedBy: node.replacedBy,
      linkedFrom: linksOf(node.id, node.before),
      isDeleted: node.isDeleted,
      student: node.student,
      absenceId: name ?? node.before?.absenceId ?? null,
      isResolved: deferred === undefined || isKept,
    });
  }
  for (const [id, danglingReferences] of graph.danglingReferences) {
    const [dangling] = danglingReferences.values();
    if (dangling !== undefined)
      note(id, dangling.before, { ...danglingOf(dangling), linkedFrom: linksOf(id, dangling.before) });
  }
  for (const [id, before] of graph.placeholders) {
    if (!graph.known.has(id)) note(id, before, { ...NO_VERSION, linkedFrom: linksOf(id, before) });
  }
  for (const id of graph.unlinked.keys()) changes.set(id, null);
  return changes;
}

/** Whether the version was published, and its absence id is no longer known. */
export function isForgotten(node: ChainNode): boolean {
  return node.state === 'present' && isResolved(node) && node.before?.absenceId === null;
}

/** An id that the hub does not need to be asked for. */
const NO_VERSION: VersionEntry = {
  state: 'gone',
  replaces: null,
  replacedBy: null,
  linkedFrom: [],
  isDeleted: false,
  student: 0,
  absenceId: null,
  isResolved: true,
};

function danglingOf({ state, isDeleted, before }: ChainNode): VersionEntry {
  return { ...NO_VERSION, state, isDeleted, absenceId: before?.absenceId ?? null };
}

/** Stores only as many links as it takes to recognise a placeholder. */
function placeholderLinks(before: VersionEntry | null, links: readonly string[]): string[] {
  const known = before?.linkedFrom ?? [];
  if (isKnownPlaceholder(before)) return [...known];
  return [...new Set([...known, ...links])].slice(0, PLACEHOLDER_REFERENCES).sort();
}

/** For each id, the versions that refer to it while it does not refer to them. */
function backLinks(graph: ChainGraph): Map<string, string[]> {
  const links = new Map<string, string[]>();
  const refer = (from: ChainNode, to: string | null): void => {
    if (to === null || to === from.id) return;
    const target = graph.known.get(to);
    if (target !== undefined && (target.replaces === from.id || target.replacedBy === from.id)) return;
    const same = links.get(to);
    if (same === undefined) links.set(to, [from.id]);
    else same.push(from.id);
  };
  for (const node of graph.known.values()) {
    refer(node, node.replaces);
    if (node.replacedBy !== node.replaces) refer(node, node.replacedBy);
  }
  return links;
}

function isSame(before: VersionEntry | null, after: VersionEntry | null): boolean {
  if (before === null || after === null) return before === after;
  return (
    before.state === after.state &&
    before.replaces === after.replaces &&
    before.replacedBy === after.replacedBy &&
    before.isDeleted === after.isDeleted &&
    before.student === after.student &&
    before.absenceId === after.absenceId &&
    before.isResolved === after.isResolved &&
    before.linkedFrom.length === after.linkedFrom.length &&
    before.linkedFrom.every((id, index) => id === after.linkedFrom[index])
  );
}
