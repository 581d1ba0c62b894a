import { currentVersions } from '../../unit/core/chains/support/oracle.ts';
import type { ChainRow } from '../../../src/core/chains/chain-state.ts';
import type { ChainWorld } from './chain-history.ts';
import { contentOf } from './hub-version.ts';
import { rowGroups } from './row-groups.ts';
import { viewOf, type PublishedLog, type LoggedVersion } from './published-log.ts';

/** Invariants 3, 4, 8 of `absence-versions` and `absences`. */
export function problemsOfVersions({ hub }: ChainWorld, log: PublishedLog): string[] {
  const problems: string[] = [];
  for (const topic of ['versions', 'absences'] as const) {
    const last = new Map<string, string | null>();
    const ids = new Set<string>();
    for (const record of log[topic]) {
      const { key, headers, content, transaction } = record;
      const what = `${topic} ${key} in transaction ${transaction}`;
      const id = headers['ce_id'] ?? '';
      if (ids.has(id)) problems.push(`ce_id twice: ${what}`);
      ids.add(id);
      const before = last.get(key) ?? null;
      const hash = content === null ? null : (headers['content-hash'] ?? '');
      if (before === hash) problems.push(`${hash === null ? 'removed' : 'published'} twice: ${what}`);
      last.set(key, hash);
      const kind = hash === null ? 'deleted' : before === null ? 'created' : 'updated';
      if (headers['ce_type']?.endsWith(`.${kind}`) !== true) problems.push(`not ${kind}: ${what}`);
    }
  }
  const removals = new Map<string, number>();
  const isThere = new Set<string>();
  for (const { key, content, committedAtMs } of log.versions) {
    if (content !== null) isThere.add(key);
    if (content !== null || !isThere.delete(key)) continue;
    const departedAtMs = hub.departuresOf(key)[removals.get(key) ?? 0];
    if (departedAtMs === undefined || departedAtMs > committedAtMs)
      problems.push(`removed, but it never left: ${key}`);
    removals.set(key, (removals.get(key) ?? 0) + 1);
  }
  return [...problems, ...outOfOrder(hub, log)];
}

/** The published contents of a version are some of those that it had, in their order. */
function outOfOrder(hub: ChainWorld['hub'], log: PublishedLog): string[] {
  const position = new Map<string, number>();
  const problems: string[] = [];
  for (const { key, content, transaction } of log.versions) {
    if (content === null) continue;
    const at = hub.contentsOf(key).indexOf(content, position.get(key) ?? 0);
    if (at < 0) problems.push(`older after newer, or made up: versions ${key} in transaction ${transaction}`);
    position.set(key, Math.max(at, position.get(key) ?? 0));
  }
  return problems;
}

/** Invariants 5 and 6: the topics once the hub is at rest. */
export function differencesFromHub(world: ChainWorld, log: PublishedLog): string[] {
  const { hub } = world;
  const problems: string[] = [];
  const rejects = world.topics.viewOf('rejects');
  const versions = viewOf(log.versions);
  const absences = viewOf(log.absences);
  for (const row of hub.rows.values()) {
    if (!row.isReadable) continue;
    if (versions.get(row.id)?.content !== contentOf(row)) problems.push(`differs from the hub: ${row.id}`);
  }
  for (const key of versions.keys()) if (!hub.rows.has(key)) problems.push(`left over: ${key}`);
  for (const { id, isReadable } of hub.rows.values()) {
    if (isReadable === rejects.has(`absence-versions|${id}`))
      problems.push(`${isReadable ? 'still' : 'not'} among the rejects: ${id}`);
  }
  for (const [key, { content, value }] of absences) {
    const version = versions.get(value?.sourcedId ?? '');
    if (version?.content !== content) problems.push(`absences ${key} does not show the version's record`);
  }
  return [...problems, ...wrongTails(world, log, absences)];
}

/** Each chain that is not deleted is shown once, by its tail. */
function wrongTails(
  world: ChainWorld,
  log: PublishedLog,
  absences: ReadonlyMap<string, LoggedVersion>,
): string[] {
  const shown = [...absences.values()].flatMap(({ value }) => value?.sourcedId ?? []);
  const problems: string[] = [];
  for (const id of new Set(shown)) {
    if (shown.filter((each) => each === id).length > 1) problems.push(`shown twice: ${id}`);
  }
  for (const { ids, present, left } of rowGroups(log)) {
    const seen = shown
      .filter((id) => ids.has(id))
      .sort()
      .join(' ');
    const known = world.happened.has('rebuilt') ? variantsOf(left) : [left.map(([newest]) => newest)];
    const allowed = [...new Set(known.map((rows) => tailsOf(present, rows)))];
    if (allowed.includes(seen)) continue;
    const rows = [...present.map(brief), ...left.flat().map((row) => `${brief(row)} (left)`)].join(', ');
    problems.push(
      `absences: shown ${seen || 'nothing'}, not ${allowed.join(' or ') || 'nothing'}, of ${rows}`,
    );
  }
  return problems;
}

function brief({ id, replaces, replacedBy, isDeleted, studentId }: ChainRow): string {
  const links = `${replaces === null ? '' : ` after ${replaces}`}${replacedBy === null ? '' : ` before ${replacedBy}`}`;
  return `${id}${links}${isDeleted ? ' deleted' : ''} of ${studentId}`;
}

const VARIANTS_AT_MOST = 500;

function tailsOf(present: readonly ChainRow[], left: readonly (ChainRow | undefined)[]): string {
  const known = left.filter((row) => row !== undefined);
  return [...currentVersions(present, known).current].sort().join(' ');
}

/** All possible knowledge of them: of each the newest record, none, or an earlier one. */
function variantsOf(left: readonly (readonly ChainRow[])[]): (ChainRow | undefined)[][] {
  let variants: (ChainRow | undefined)[][] = [[]];
  for (const rows of left) {
    const isMuch = variants.length * (rows.length + 1) > VARIANTS_AT_MOST;
    const choices = isMuch ? [rows[0]] : [rows[0], undefined, ...rows.slice(1)];
    variants = variants.flatMap((known) => choices.map((row) => known.concat(row)));
  }
  return variants;
}
