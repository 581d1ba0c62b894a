import type { MirroredAbsences } from './mirrored-absences.ts';
import { contentOf } from './hub-version.ts';
import { viewOf, type PublishedLog, type LoggedVersion } from './published-log.ts';

/** Invariants 3, 4, 8 of `absence-versions` and `absences`. */
export function problemsOfVersions({ hub }: MirroredAbsences, log: PublishedLog): string[] {
  const problems: string[] = [];
  const changed = new Set(log.versions.map(({ key, transaction }) => `${transaction} ${key}`));
  for (const topic of ['versions', 'absences'] as const) {
    const last = new Map<string, string | null>();
    for (const record of log[topic]) {
      const { key, headers, content, transaction } = record;
      const what = `${topic} ${key} in transaction ${transaction}`;
      const before = last.get(key) ?? null;
      const hash = content === null ? null : (headers['content-hash'] ?? '');
      // A version that is published under another mapping takes its absence along, which may show it so already.
      const isAlong = topic === 'absences' && changed.has(`${transaction} ${record.value?.sourcedId}`);
      if (before === hash && !isAlong)
        problems.push(`${hash === null ? 'removed' : 'published'} twice: ${what}`);
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
    const hasLeft = departedAtMs !== undefined && departedAtMs <= committedAtMs;
    // A record that was given to another student is rejected.
    if (!hasLeft && !mayBeRejected(hub, key)) problems.push(`removed, but it never left: ${key}`);
    if (hasLeft) removals.set(key, (removals.get(key) ?? 0) + 1);
  }
  return [...problems, ...outOfOrder(hub, log)];
}

/** The published contents of a version are some of those that it had, in their order. */
function outOfOrder(hub: MirroredAbsences['hub'], log: PublishedLog): string[] {
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
export function differencesFromHub(world: MirroredAbsences, log: PublishedLog): string[] {
  const { hub } = world;
  const problems: string[] = [];
  const rejects = world.broker.viewOf('rejects');
  const versions = viewOf(log.versions);
  const absences = viewOf(log.absences);
  for (const row of hub.rows.values()) {
    if (!row.isReadable) continue;
    const isRejected = rejects.has(`absence-versions|${row.id}`) && mayBeRejected(hub, row.id);
    if (isRejected ? versions.has(row.id) : versions.get(row.id)?.content !== contentOf(row))
      problems.push(`differs from the hub: ${row.id}`);
  }
  for (const key of versions.keys()) if (!hub.rows.has(key)) problems.push(`left over: ${key}`);
  for (const { id, isReadable } of hub.rows.values()) {
    if (isReadable && mayBeRejected(hub, id)) continue;
    if (isReadable === rejects.has(`absence-versions|${id}`))
      problems.push(`${isReadable ? 'still' : 'not'} among the rejects: ${id}`);
  }
  for (const [key, { content, value }] of absences) {
    const version = versions.get(value?.sourcedId ?? '');
    if (version?.content !== content) problems.push(`absences ${key} does not show the version's record`);
  }
  return [...problems, ...wrongTails(world, log, absences)];
}

/** Whether the hub ever gave the record to another student. */
function mayBeRejected(hub: MirroredAbsences['hub'], id: string): boolean {
  const students = hub.contentsOf(id).map((content) => (JSON.parse(content) as unknown[])[1]);
  return new Set(students).size > 1;
}

/** Each chain as spec 3 has it that is not deleted is shown once, by its tail; of others, only versions that are current. */
function wrongTails(
  { hub }: MirroredAbsences,
  log: PublishedLog,
  absences: ReadonlyMap<string, LoggedVersion>,
): string[] {
  const shown = [...absences.values()].flatMap(({ value }) => value?.sourcedId ?? []);
  const problems: string[] = [];
  const published = viewOf(log.versions);
  for (const id of new Set(shown)) {
    if (shown.filter((each) => each === id).length > 1) problems.push(`shown twice: ${id}`);
    const record = published.get(id)?.value ?? null;
    if (record === null) problems.push(`shown, but it has left: ${id}`);
    else if (record.deletedTime != null) problems.push(`shown, but deleted: ${id}`);
  }
  for (const { versions, isTainted } of hub.chains) {
    if (isTainted) continue;
    const tail = hub.rows.get(versions.at(-1) ?? '');
    const wanted = tail === undefined || tail.deletedAtMs !== null ? [] : [tail.id];
    const seen = shown.filter((id) => versions.includes(id));
    if (seen.join(' ') !== wanted.join(' '))
      problems.push(
        `absences: shown ${seen.join(' ') || 'nothing'}, not ${wanted.join(' ') || 'nothing'}, of ${versions.join(' ')}`,
      );
  }
  return problems;
}
