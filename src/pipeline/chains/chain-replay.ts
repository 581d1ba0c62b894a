import { absentEntryOf, encodeAbsent } from '../../core/chains/absent-entry.ts';
import { chainRowOf, type AbsenceVersionValue } from '../../core/chains/chain-row.ts';
import { decodeVersionEntry, encodeVersionEntry } from '../../core/chains/entry-codec.ts';
import { examine, ofChainsAtHub } from '../../core/chains/examine.ts';
import type { VersionEntry } from '../../core/chains/knowledge.ts';
import { absenceEntryOf, EntryReplay, idsIn, type LoggedStep } from '../../core/chains/replay.ts';
import { resolve } from '../../core/chains/resolve.ts';
import { decodeToldAbsence, encodeToldAbsence, type ToldAbsence } from '../../core/chains/told-absence.ts';
import type { AbsenceChangeValue } from '../../core/absence-change.ts';
import { isFramed } from '../../publisher/framing.ts';
import type { LoggedRecord } from '../../publisher/log.ts';
import type { IndexChange, IndexEntry, IndexReplay } from '../../state/index-store.ts';
import { KnownChains } from './chain-lookup.ts';
import { dayNumber, encodeDay } from './ended-day.ts';
import { contradictionChanges } from './render-chains.ts';

export interface ChainReplayParts {
  readonly replay: Pick<IndexReplay, 'lookup' | 'entries' | 'write'>;
  /** A framed value of one of the three topics. */
  readonly decode: (framed: Buffer) => Promise<unknown>;
  readonly absentSinceMs: () => number;
  /** From an earlier point of the log on; else from nothing. */
  readonly isResumed: boolean;
  /**
   * Of a partition of `absence-versions`: the last offset that the last complete full pass stands for. Null where that is
   * not known.
   */
  readonly wholeUpTo: ((partition: number) => number) | null;
  /** Whether every chain was told at least once: whatever is untold and over was then forgotten. */
  readonly wasWhole: boolean;
}

const EMPTY = Buffer.alloc(0);
const EXAMINE_AT_ONCE = 1_000;
/** A hash that no row has. */
const UNKNOWN_CONTENT = Buffer.alloc(16);

/**
 * Makes the chain index again out of the topics: all of it, or what came after a point. Publishes nothing: chains that
 * the log leaves untold, or shown otherwise than they are, are left open, and the next pass tells them. Rule 15 of the
 * design note in core/chains/resolve.ts.
 */
export class ChainReplay {
  readonly #parts: ChainReplayParts;
  #lastFirstSequence = 0;
  /** Of what is resumed: the version that each absence was last told to be, and of those the forgotten ones. */
  readonly #lastTold = new Map<string, string>();
  readonly #forgotten = new Map<string, string>();

  constructor(parts: ChainReplayParts) {
    this.#parts = parts;
  }

  /** The latest first publication that was met: no transaction to come may have a lesser number. */
  get lastFirstSequence(): number {
    return this.#lastFirstSequence;
  }

  /** Records of one partition of `absence-versions`, in order. */
  async versions(records: readonly LoggedRecord[]): Promise<void> {
    const { isResumed } = this.#parts;
    const decode = (value: Buffer): Promise<unknown> => this.#decode(value);
    const latest = new Map(records.map((record) => [record.key, record]));
    const rows = new Map<string, AbsenceVersionValue | null>();
    const changes: IndexChange[] = [];
    for (const { key, value } of latest.values()) {
      const version = value === null ? null : ((await decode(value)) as AbsenceVersionValue | undefined);
      // Nothing is known of it, but that a pass must publish it again.
      if (version === undefined) changes.push({ area: 'rows', key, value: UNKNOWN_CONTENT });
      else rows.set(key, version);
    }
    const chainRows = [...rows].map(([id, value]) => ({
      id,
      row: value === null ? null : chainRowOf(value),
    }));
    const entries = await this.#linkedEntries(
      chainRows.map(({ id }) => id),
      chainRows.flatMap(({ row }) => (row === null ? [] : idsIn(row))),
    );
    const replay = new EntryReplay(entries);
    for (const { id, row } of chainRows) {
      const isNews = this.#isNews(latest.get(id));
      if (row === null) replay.removal(id);
      else replay.row(row, { isNews });
      // Of what is resumed, all that was touched is examined in the end.
      const isOpen = isResumed || isNews || row === null;
      changes.push({ area: 'open', key: id, value: isOpen ? EMPTY : null });
      if (isResumed) changes.push(...leftBehind(entries.get(id) ?? null));
    }
    await this.#write(replay, changes);
  }

  /** Whether a record came after the last transaction that told of all that was there. */
  #isNews(record: LoggedRecord | undefined): boolean {
    const { isResumed, wholeUpTo } = this.#parts;
    if (record === undefined) return isResumed;
    const last = wholeUpTo?.(record.partition);
    return last === undefined ? isResumed : record.offset > last;
  }

  /** Records of one partition of `absence-changes`, in order. */
  async steps(records: readonly LoggedRecord[]): Promise<void> {
    const steps: LoggedStep[] = [];
    const changes: IndexChange[] = [];
    const last = new Map<string, { step: LoggedStep | null; atMs: number }>();
    for (const { key, value, firstSequence } of records) {
      if (value === null) {
        last.set(key, { step: null, atMs: 0 });
        continue;
      }
      const change = (await this.#decode(value)) as AbsenceChangeValue | undefined;
      // Like one that was forgotten: whoever reads the topic knows nothing of it either.
      if (change === undefined) {
        last.set(key, { step: null, atMs: 0 });
        continue;
      }
      const step: LoggedStep = {
        absenceId: key,
        step: change.step,
        isDeletion: change.operation === 'DELETED',
        row: chainRowOf(change.version),
        mergedInto: change.mergedInto,
        since: firstSequence ?? 0,
      };
      steps.push(step);
      this.#lastFirstSequence = Math.max(this.#lastFirstSequence, step.since);
      last.set(key, { step, atMs: change.detectedAt });
    }
    const entries = await this.#linkedEntries(
      steps.map(({ row }) => row.id),
      steps.flatMap(({ row }) => idsIn(row)),
    );
    const replay = new EntryReplay(entries);
    for (const step of steps) {
      replay.step(step);
      if (!this.#parts.isResumed) continue;
      changes.push({ area: 'open', key: step.row.id, value: EMPTY });
      changes.push(...leftBehind(entries.get(step.row.id) ?? null));
    }
    const told = await this.#told([...last.keys()]);
    this.#noteForgotten({ steps, last, told });
    for (const [absenceId, { step, atMs }] of last) {
      const shown = told.get(absenceId)?.shown ?? null;
      const entry = step === null ? null : absenceEntryOf(step);
      const isEnded = entry?.isToldDeleted === true;
      changes.push(
        { area: 'ended', key: absenceId, value: isEnded ? encodeDay(dayNumber(atMs)) : null },
        toldChange(absenceId, { entry, shown }),
      );
    }
    await this.#write(replay, changes);
  }

  /** Records of one partition of `absences`, in order. */
  async currents(records: readonly LoggedRecord[]): Promise<void> {
    const { absentSinceMs } = this.#parts;
    const latest = new Map(records.map((record) => [record.key, record]));
    const told = await this.#told([...latest.keys()]);
    const changes: IndexChange[] = [];
    for (const [absenceId, { value, hash }] of latest) {
      const entry = told.get(absenceId)?.entry ?? null;
      const current =
        value === null ? null : ((await this.#decode(value)) as AbsenceVersionValue | undefined);
      const shown = current === undefined ? UNKNOWN_CONTENT : current === null ? null : hash;
      changes.push(toldChange(absenceId, { entry, shown }));
      const absent = current === null || current === undefined ? null : absentEntryOf(current);
      const isKept = absent !== null && absent.toMs >= absentSinceMs();
      changes.push({ area: 'absent', key: absenceId, value: isKept ? encodeAbsent(absent) : null });
    }
    await this.#parts.replay.write(changes);
  }

  /**
   * Undefined for what was never framed as the contract says: somebody else wrote it. What a schema does not fit, or the
   * registry does not know, is thrown: it may be the registry that is at fault, and then nothing is known of anything.
   */
  async #decode(value: Buffer): Promise<unknown> {
    return isFramed(value) ? this.#parts.decode(value) : undefined;
  }

  /** To be called when all was read: finds what the log leaves untold. */
  async finish(): Promise<void> {
    if (this.#parts.isResumed) {
      const told = [...this.#lastTold.keys()];
      for (let at = 0; at < told.length; at += EXAMINE_AT_ONCE) {
        await this.#nameTold(await this.#told(told.slice(at, at + EXAMINE_AT_ONCE)));
      }
      await this.#settleForgotten();
      await this.#examineOpen();
      return;
    }
    for await (const entries of this.#parts.replay.entries('absences')) {
      await this.#nameTold(new Map(entries.map(([id, value]) => [id, decodeToldAbsence(id, value)])));
      await this.#presume(entries);
    }
    for await (const entries of this.#parts.replay.entries('versions')) await this.#examineVersions(entries);
    for await (const entries of this.#parts.replay.entries('absences')) await this.#examineAbsences(entries);
  }

  /** `told`: what was told before, where the log tells no more of it than that it was forgotten. */
  #noteForgotten(parts: {
    steps: readonly LoggedStep[];
    last: ReadonlyMap<string, { step: LoggedStep | null }>;
    told: ReadonlyMap<string, ToldAbsence>;
  }): void {
    if (!this.#parts.isResumed) return;
    for (const { absenceId, row } of parts.steps) this.#lastTold.set(absenceId, row.id);
    for (const [absenceId, { step }] of parts.last) {
      const versionId =
        this.#lastTold.get(absenceId) ?? parts.told.get(absenceId)?.entry?.toldVersionId ?? absenceId;
      if (step === null) this.#forgotten.set(absenceId, versionId);
      else this.#forgotten.delete(absenceId);
    }
  }

  /** Nothing in the index says any more that they were told; but they are not told again. */
  async #settleForgotten(): Promise<void> {
    const { replay } = this.#parts;
    const revisit = [...new Set(this.#forgotten.values())];
    for (let at = 0; at < revisit.length; at += EXAMINE_AT_ONCE) {
      const some = revisit.slice(at, at + EXAMINE_AT_ONCE);
      const known = new KnownChains((area, keys) => replay.lookup(area, keys));
      await known.complete({ rows: [], revisit: some });
      const { untoldNews, untoldOver } = examine({ rows: [], revisit: some, knowledge: known });
      // The log says that they were forgotten, whatever was open when the index was here last.
      const changes = settled([...untoldOver, ...untoldNews], known);
      if (changes.length > 0) await replay.write(changes);
    }
  }

  /**
   * A version belongs to the absence that lives and was last told to be it: an older event of another absence may have
   * been read after that, from another partition.
   */
  async #nameTold(told: ReadonlyMap<string, ToldAbsence>): Promise<void> {
    const absenceOf = new Map<string, string>();
    for (const [id, { entry }] of told) {
      if (entry !== null && !entry.isToldDeleted) absenceOf.set(entry.toldVersionId, id);
    }
    const changes: IndexChange[] = [];
    for (const [key, entry] of await this.#entriesOf([...absenceOf.keys()])) {
      const absenceId = absenceOf.get(key);
      if (entry === null || absenceId === undefined || entry.absenceId === absenceId) continue;
      if (entry.state !== 'present' && entry.state !== 'vanished') continue;
      changes.push({ area: 'versions', key, value: encodeVersionEntry(key, { ...entry, absenceId }) });
    }
    if (changes.length > 0) await this.#parts.replay.write(changes);
  }

  /**
   * A version that an absence was last told to be, and that the log does not hold, is taken to be at the hub, with a
   * content that nobody knows: the log may have lost it. A full pass finds it, or misses it like any row (invariant 3).
   */
  async #presume(entries: readonly IndexEntry[]): Promise<void> {
    const { replay } = this.#parts;
    const told = entries.map(([id, value]) => {
      const { entry } = decodeToldAbsence(id, value);
      return entry === null || entry.isToldDeleted ? null : entry.toldVersionId;
    });
    const versionIds = [...new Set(told)].filter((id) => id !== null);
    const versions = await this.#entriesOf(versionIds);
    const changes: IndexChange[] = [];
    for (const [id, entry] of versions) {
      // Unsettled: the log tells of its removal.
      if (entry?.state !== 'vanished' || !entry.isSettled) continue;
      const value = encodeVersionEntry(id, { ...entry, state: 'present' });
      changes.push({ area: 'versions', key: id, value }, { area: 'rows', key: id, value: UNKNOWN_CONTENT });
    }
    if (changes.length > 0) await replay.write(changes);
  }

  async #examineVersions(entries: readonly IndexEntry[]): Promise<void> {
    const ids: string[] = [];
    const changes: IndexChange[] = [];
    const versions = entries.map(([id, value]) => ({ id, entry: decodeVersionEntry(id, value) }));
    const forgotten = await this.#forgottenOf(versions);
    for (const { id, entry } of versions) {
      const { isSettled, state } = entry;
      const isForgotten = forgotten.has(id);
      if (isForgotten) changes.push({ area: 'versions', key: id, value: null });
      else if (state === 'gone' && !isSettled)
        changes.push({
          area: 'versions',
          key: id,
          value: encodeVersionEntry(id, { ...entry, isSettled: true }),
        });
      else if (state === 'vanished' && !isSettled) changes.push({ area: 'open', key: id, value: EMPTY });
      if (state === 'present' || (state === 'vanished' && !isForgotten)) ids.push(id);
    }
    if (changes.length > 0) await this.#parts.replay.write(changes);
    for (let at = 0; at < ids.length; at += EXAMINE_AT_ONCE) {
      await this.#examine(ids.slice(at, at + EXAMINE_AT_ONCE));
    }
  }

  /** What has left, and neither an absence nor a chain at the hub needs any more: it may be what holds one together. */
  async #forgottenOf(versions: readonly { id: string; entry: VersionEntry }[]): Promise<ReadonlySet<string>> {
    const { replay } = this.#parts;
    const revisit = versions.flatMap(({ id, entry: { state, absenceId, linkedFrom } }) =>
      state !== 'present' && absenceId === null && linkedFrom.length === 0 ? [id] : [],
    );
    const known = new KnownChains((area, keys) => replay.lookup(area, keys));
    await known.complete({ rows: [], revisit });
    return new Set(revisit).difference(ofChainsAtHub({ rows: [], revisit, knowledge: known }));
  }

  /** What a resume has touched, or was open before: where nothing is left to tell, it is settled. */
  async #examineOpen(): Promise<void> {
    const { replay } = this.#parts;
    for await (const entries of replay.entries('open')) {
      const some = entries.map(([id]) => id);
      const { known, left } = await this.#examine(some);
      const isOver = (id: string): boolean => known.versions.get(id)?.state !== 'vanished' && !left.has(id);
      const told = some.filter(isOver);
      await replay.write(settled(told, known));
      const absenceIds = [...known.absences].filter(([, entry]) => entry !== null).map(([id]) => id);
      const values = await replay.lookup('absences', absenceIds);
      await this.#examineAbsences(
        absenceIds.flatMap((id, position) => {
          const value = values[position] ?? null;
          return value === null ? [] : [[id, value] as const];
        }),
      );
    }
  }

  /** `left`: versions that are left open. */
  async #examine(revisit: readonly string[]): Promise<{ known: KnownChains; left: ReadonlySet<string> }> {
    const { replay, wasWhole } = this.#parts;
    const known = new KnownChains((area, keys) => replay.lookup(area, keys));
    await known.complete({ rows: [], revisit });
    const unreadable = await this.#unreadable(known);
    const found = examine({ rows: [], revisit, knowledge: known, unreadable });
    const changes: IndexChange[] = contradictionChanges(found.contradictions, {
      versionIds: [],
      reported: [],
    });
    if (wasWhole) changes.push(...settled(found.untoldOver, known));
    const untold = wasWhole ? found.untold : [...found.untold, ...found.untoldOver];
    // What the log has not told yet of the absences that it tells of, whatever the reason.
    const { steps } = resolve({ rows: [], revisit, knowledge: known, mode: 'final', sequence: 0 });
    const left = new Set(untold);
    for (const { absenceId, versionId } of steps) {
      if ((known.absences.get(absenceId) ?? null) === null) continue;
      left.add(versionId);
      changes.push({ area: 'open', key: versionId, value: EMPTY });
    }
    for (const id of untold) {
      const entry = known.versions.get(id) ?? null;
      if (entry === null) continue;
      const value = encodeVersionEntry(id, { ...entry, absenceId: null, isSettled: false });
      changes.push({ area: 'versions', key: id, value }, { area: 'open', key: id, value: EMPTY });
    }
    if (changes.length > 0) await replay.write(changes);
    return { known, left };
  }

  /** Of what is said to have replaced versions: what the hub has, though it could not be read. */
  async #unreadable(known: KnownChains): Promise<ReadonlySet<string>> {
    const replacements = new Set<string>();
    for (const entry of known.versions.values()) {
      if (entry?.state === 'present' && entry.replacedBy !== null) replacements.add(entry.replacedBy);
    }
    const ids = [...replacements].filter((id) => known.versions.get(id)?.state !== 'present');
    if (ids.length === 0) return new Set();
    const rejects = await this.#parts.replay.lookup('rejects', ids);
    return new Set(ids.filter((_id, at) => (rejects[at] ?? null) !== null));
  }

  /** Leaves open what is told otherwise than it is. */
  async #examineAbsences(entries: readonly IndexEntry[]): Promise<void> {
    const { replay } = this.#parts;
    const told = entries.map(([id, value]) => ({ id, ...decodeToldAbsence(id, value) }));
    const versionIds = told.map(({ id, entry }) => entry?.toldVersionId ?? id);
    const versions = await this.#entriesOf(versionIds);
    const hashes = await replay.lookup('rows', versionIds);
    const changes: IndexChange[] = [];
    for (const [at, { entry, shown }] of told.entries()) {
      const versionId = versionIds[at] ?? '';
      const version = versions.get(versionId) ?? null;
      if (version === null || entry === null) continue;
      const hash = hashes[at] ?? null;
      const isAsTold = entry.isToldDeleted
        ? shown === null
        : version.state === 'present' &&
          shown !== null &&
          hash !== null &&
          (shown.equals(hash) || hash.equals(UNKNOWN_CONTENT));
      if (isAsTold || entry.mergedInto !== null) continue;
      const value = encodeVersionEntry(versionId, { ...version, isSettled: false });
      changes.push(
        { area: 'versions', key: versionId, value },
        { area: 'open', key: versionId, value: EMPTY },
      );
    }
    if (changes.length > 0) await replay.write(changes);
  }

  async #write(replay: EntryReplay, more: readonly IndexChange[]): Promise<void> {
    const changes: IndexChange[] = [...replay.changed].map(([id, entry]) => ({
      area: 'versions',
      key: id,
      value: encodeVersionEntry(id, entry),
    }));
    await this.#parts.replay.write([...changes, ...more]);
  }

  /** Entries of versions and of all that they refer to, or referred to before. */
  async #linkedEntries(
    ids: readonly string[],
    links: readonly string[],
  ): Promise<Map<string, VersionEntry | null>> {
    const entries = await this.#entriesOf([...ids, ...links]);
    const former = ids.flatMap((id) => {
      const { replaces = null, replacedBy = null } = entries.get(id) ?? {};
      return [replaces, replacedBy].filter((other) => other !== null && !entries.has(other)).map(String);
    });
    return new Map([...entries, ...(await this.#entriesOf(former))]);
  }

  async #entriesOf(ids: readonly string[]): Promise<Map<string, VersionEntry | null>> {
    const wanted = [...new Set(ids)];
    const found = await this.#parts.replay.lookup('versions', wanted);
    return new Map(
      wanted.map((id, at) => {
        const bytes = found[at] ?? null;
        return [id, bytes === null ? null : decodeVersionEntry(id, bytes)];
      }),
    );
  }

  async #told(absenceIds: readonly string[]): Promise<Map<string, ToldAbsence>> {
    const found = await this.#parts.replay.lookup('absences', absenceIds);
    return new Map(absenceIds.map((id, at) => [id, decodeToldAbsence(id, found[at] ?? null)]));
  }
}

function toldChange(absenceId: string, told: ToldAbsence): IndexChange {
  const isNothing = told.entry === null && told.shown === null;
  return { area: 'absences', key: absenceId, value: isNothing ? null : encodeToldAbsence(absenceId, told) };
}

/** What was told and forgotten is not looked at again. */
function settled(ids: readonly string[], known: KnownChains): IndexChange[] {
  return ids.flatMap((id): IndexChange[] => {
    const entry = known.versions.get(id) ?? null;
    if (entry === null) return [{ area: 'open', key: id, value: null }];
    const value = encodeVersionEntry(id, { ...entry, isSettled: true });
    return [
      { area: 'versions', key: id, value },
      { area: 'open', key: id, value: null },
    ];
  });
}

/** What a version hung together with may be another chain now: it is looked at, too. */
function leftBehind(before: VersionEntry | null): IndexChange[] {
  if (before === null) return [];
  const ids = [before.replaces, before.replacedBy, before.absenceId].filter((id) => id !== null);
  return ids.map((key) => ({ area: 'open', key, value: EMPTY }));
}
