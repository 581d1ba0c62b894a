import { chainRowOf, type AbsenceVersionValue } from '../../core/chains/chain-row.ts';
import type { ChainRow } from '../../core/chains/chain-state.ts';
import { resolve, type Resolution } from '../../core/chains/chain-rules.ts';
import { KnownChains } from './chain-lookup.ts';
import type { ChainTask, FetchedVersions } from './chain-task.ts';

/**
 * Reads version records back from the log; see {@link readPublishedVersions}. Of several records that `onVersion` gets of
 * a version, the last counts.
 */
export type ReadPublishedVersions = (
  wanted: WantedRecords,
  onVersion: (versionId: string, version: PublishedVersion) => void,
) => Promise<void>;

export interface PublishedVersion {
  /** As the mapping in force gives it (invariant 12). */
  readonly value: AbsenceVersionValue;
  /** Null if the value is the one in the log. */
  readonly hash: Buffer | null;
}

export interface WantedRecords {
  readonly versionIds: ReadonlySet<string>;
  /** The absences under which departed versions were last shown or published. */
  readonly absenceIds: ReadonlySet<string>;
}

export interface Resolved {
  readonly resolution: Resolution;
  readonly known: KnownChains;
  /** Records of all versions to publish, by version id. */
  readonly records: ReadonlyMap<string, AbsenceVersionValue>;
  /** Whether chains wait because the hub did not answer. */
  readonly isUnanswered: boolean;
  /** New or changed versions. */
  readonly changed: readonly string[];
  /** Content hashes of the current versions, by version id. */
  readonly hashes: ReadonlyMap<string, Buffer | null>;
}

/**
 * A version can appear at the hub in a part that a full sync has already read. So even a proven full sync asks the hub
 * before it takes missing ids as gone, if there are at most so many.
 */
const ASK_RATHER_AT_MOST = 50;

interface Draft {
  readonly rows: Map<string, ChainRow>;
  readonly records: Map<string, AbsenceVersionValue>;
  /** Content hashes of records that were read back and differ from the log, under the mapping in force. */
  readonly hashes: Map<string, Buffer>;
  readonly gone: Set<string>;
  /** Ids that the hub was asked for without a record in return. */
  readonly notFound: Set<string>;
  /** Ids beyond the limit of questions: their chains wait for the next sync. */
  readonly deferredQuestions: Set<string>;
  /** Ids that the hub did not answer for: their chains wait too. */
  readonly unanswered: Set<string>;
  readonly known: KnownChains;
  readonly forgotten: Set<string>;
  asked: number;
}

/**
 * Resolves a task's chains, with all chain entries and records that this takes. Records come from the task, from the
 * memory of pending chains, from the hub, and at last from the log. In `page` mode a chain whose records are not
 * available waits.
 */
export async function resolveTask(
  task: ChainTask,
  sources: {
    kept: (versionId: string) => AbsenceVersionValue | undefined;
    readPublishedVersions: ReadPublishedVersions;
  },
): Promise<Resolved> {
  const draft: Draft = {
    rows: new Map(),
    records: new Map(),
    hashes: new Map(),
    gone: new Set(),
    notFound: new Set(),
    unanswered: new Set(),
    deferredQuestions: new Set(),
    forgotten: new Set(),
    known: new KnownChains(task.lookups.lookUp),
    asked: 0,
  };
  for (const value of task.changed.versions) addVersion(draft, value);
  await learn(task, draft);
  const defer = new Set<string>();
  for (;;) {
    const { mode, sequence } = task;
    for (const id of [...draft.unanswered, ...draft.deferredQuestions]) defer.add(id);
    const resolution = resolve({
      ...inputOf(task, draft),
      chainState: draft.known,
      mode,
      sequence,
      awaitsStudents: task.awaitsStudents,
      defer,
      forgotten: draft.forgotten,
    });
    if (await askForRevived({ task, draft, resolution, defer })) continue;
    const hashes = await task.lookups.hashesOf(
      resolution.currents.flatMap(({ versionId }) => versionId ?? []),
    );
    const { lacking, isNews } = await gather({ task, draft, resolution, hashes, sources });
    const deferred = task.mode === 'final' ? [] : chainsNeeding(resolution, new Set(lacking));
    const mayDefer = deferred.some((id) => !defer.has(id));
    if (isNews) {
      await learn(task, draft);
    } else if (forget({ task, draft, resolution })) {
      // Some tails are forgotten: resolve again without them.
    } else if (!mayDefer) {
      for (const id of lacking) draft.records.set(id, { sourcedId: id });
      const { known, records, rows, unanswered } = draft;
      const isUnanswered = unanswered.size > 0;
      const published = new Map([...hashes, ...draft.hashes]);
      return { resolution, known, records, hashes: published, changed: [...rows.keys()], isUnanswered };
    } else {
      for (const id of deferred) defer.add(id);
    }
  }
}

function addVersion(draft: Draft, value: AbsenceVersionValue): void {
  draft.rows.set(value.sourcedId, chainRowOf(value));
  draft.records.set(value.sourcedId, value);
}

function inputOf(task: ChainTask, draft: Draft) {
  return {
    rows: [...draft.rows.values()],
    gone: [...draft.gone],
    vanished: task.changed.vanished,
    revisit: task.changed.revisit,
  };
}

/**
 * Marks tails as forgotten that would be published for the first time although they were deleted too long ago. Returns
 * whether there were any.
 */
function forget(parts: { task: ChainTask; draft: Draft; resolution: Resolution }): boolean {
  const { task, draft, resolution } = parts;
  const { forgottenBeforeMs } = task;
  if (forgottenBeforeMs === null) return false;
  const before = draft.forgotten.size;
  for (const { absenceId, operation, versionId } of resolution.steps) {
    const deletedMs = draft.records.get(versionId)?.deletedTime;
    const isFirst = (draft.known.absences.get(absenceId) ?? null) === null;
    if (operation !== 'DELETED' || !isFirst || typeof deletedMs !== 'number') continue;
    if (deletedMs < forgottenBeforeMs) draft.forgotten.add(versionId);
  }
  return draft.forgotten.size > before;
}

/** Looks up entries and asks the hub until nothing more is missing. */
async function learn(task: ChainTask, draft: Draft): Promise<void> {
  for (;;) {
    const wanted = await draft.known.complete(inputOf(task, draft));
    const news = wanted.filter((id) => !draft.notFound.has(id));
    if (news.length === 0) return;
    if (task.isGone === null || news.length <= ASK_RATHER_AT_MOST) await ask(task, draft, news);
    else for (const id of news) draft.notFound.add(id);
    for (const id of news) {
      if (draft.notFound.has(id) && task.isGone?.(id) === true) draft.gone.add(id);
    }
  }
}

const NOTHING_ASKED: FetchedVersions = { versions: [], gone: [], isFailed: false };

async function ask(task: ChainTask, draft: Draft, ids: readonly string[]): Promise<void> {
  const asked = ids.slice(0, Math.max(0, task.askAtMost - draft.asked));
  const publishesUnasked = task.snapshot || task.publishesUnanswered;
  if (!publishesUnasked) for (const id of ids.slice(asked.length)) draft.deferredQuestions.add(id);
  draft.asked += asked.length;
  const found = asked.length === 0 ? NOTHING_ASKED : await task.lookups.fetch(asked);
  if (found.isFailed && !task.publishesUnanswered) for (const id of asked) draft.unanswered.add(id);
  for (const value of found.versions) addVersion(draft, value);
  for (const id of found.gone) draft.gone.add(id);
  for (const id of ids) if (!draft.rows.has(id) && !draft.gone.has(id)) draft.notFound.add(id);
}

/**
 * Gets the records that a resolution publishes. `lacking`: versions whose records are not available. `isNews`: the
 * hub's answers may change the result, so resolve again.
 */
async function gather(parts: {
  task: ChainTask;
  draft: Draft;
  resolution: Resolution;
  hashes: ReadonlyMap<string, Buffer | null>;
  sources: {
    kept: (versionId: string) => AbsenceVersionValue | undefined;
    readPublishedVersions: ReadPublishedVersions;
  };
}): Promise<{ lacking: readonly string[]; isNews: boolean }> {
  const { task, draft, sources } = parts;
  const wanted = wantedRecords(parts);
  const lacking = (): string[] => [...wanted.versionIds].filter((id) => !draft.records.has(id));
  for (const id of lacking()) {
    const value = sources.kept(id);
    if (value !== undefined) draft.records.set(id, value);
  }
  const vanished = new Set(task.changed.vanished);
  const isAtHub = (id: string): boolean =>
    draft.known.versions.get(id)?.state === 'present' && !vanished.has(id);
  const askable = lacking().filter((id) => isAtHub(id) && !draft.notFound.has(id));
  if (askable.length > 0 && draft.asked + askable.length <= task.askAtMost) {
    draft.asked += askable.length;
    const found = await task.lookups.fetch(askable);
    for (const value of found.versions) addVersion(draft, value);
    for (const id of askable) if (!draft.records.has(id)) draft.notFound.add(id);
    // A version that left the hub is not published as current; its chain waits for its confirmed removal.
    const current = new Set(parts.resolution.currents.map(({ versionId }) => versionId));
    const leaving = found.gone.filter((id) => current.has(id));
    for (const id of leaving) draft.deferredQuestions.add(id);
    if (found.versions.length > 0 || leaving.length > 0) return { lacking: [], isNews: true };
  }
  if (task.mode === 'final' && lacking().length > 0) {
    const { absenceIds } = wanted;
    const found = new Map<string, PublishedVersion>();
    await sources.readPublishedVersions({ versionIds: new Set(lacking()), absenceIds }, (id, version) =>
      found.set(id, version),
    );
    for (const [id, { value, hash }] of found) {
      if (draft.records.has(id)) continue;
      draft.records.set(id, value);
      if (hash !== null) draft.hashes.set(id, hash);
    }
  }
  return { lacking: lacking(), isNews: false };
}

function wantedRecords(parts: {
  draft: Draft;
  resolution: Resolution;
  hashes: ReadonlyMap<string, Buffer | null>;
}): WantedRecords {
  const versionIds = new Set<string>();
  const absenceIds = new Set<string>();
  for (const { absenceId, versionId, previousVersionId, operation, cause } of parts.resolution.steps) {
    versionIds.add(versionId);
    if (previousVersionId !== null) versionIds.add(previousVersionId);
    if (cause !== 'HUB' || operation === 'DELETED' || previousVersionId !== null) absenceIds.add(absenceId);
  }
  for (const { absenceId, versionId } of parts.resolution.currents) {
    if (versionId === null) continue;
    const shown = parts.draft.known.shown.get(absenceId) ?? null;
    const hash = parts.hashes.get(versionId) ?? null;
    if (shown === null || hash === null || !shown.equals(hash)) versionIds.add(versionId);
  }
  return { versionIds, absenceIds };
}

/**
 * Asks the hub for versions that would be published again because their successor left the hub: the chain may be
 * leaving step by step, and a full sync would miss the rest only later. Returns whether the answers may change the
 * result.
 */
async function askForRevived(parts: {
  task: ChainTask;
  draft: Draft;
  resolution: Resolution;
  defer: Set<string>;
}): Promise<boolean> {
  const { task, draft, defer } = parts;
  const revived = parts.resolution.steps.flatMap(({ cause, operation, versionId }) =>
    cause === 'VANISHED' &&
    operation === 'REPLACED' &&
    !draft.rows.has(versionId) &&
    !draft.notFound.has(versionId)
      ? [versionId]
      : [],
  );
  if (revived.length === 0 || draft.asked + revived.length > task.askAtMost) return false;
  await ask(task, draft, revived);
  for (const id of revived) if (draft.gone.delete(id)) defer.add(id);
  await learn(task, draft);
  return true;
}

/** Versions of the chains that need one of these records. */
function chainsNeeding(resolution: Resolution, lacking: ReadonlySet<string>): readonly string[] {
  const deferred: string[] = [];
  for (const { absenceId, mergedInto, versionId, previousVersionId } of resolution.steps) {
    if (!lacking.has(versionId) && !lacking.has(previousVersionId ?? versionId)) continue;
    for (const id of [versionId, absenceId, mergedInto]) if (id !== null) deferred.push(id);
  }
  for (const { versionId } of resolution.currents) {
    if (versionId !== null && lacking.has(versionId)) deferred.push(versionId);
  }
  return deferred;
}
