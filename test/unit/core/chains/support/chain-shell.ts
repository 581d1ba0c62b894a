import {
  decodeAbsenceEntry,
  decodeVersionEntry,
  encodeAbsenceEntry,
  encodeVersionEntry,
} from '../../../../../src/core/chains/entry-codec.ts';
import {
  studentFingerprint,
  type AbsenceEntry,
  type ChainRow,
  type VersionEntry,
} from '../../../../../src/core/chains/chain-state.ts';
import { missing } from '../../../../../src/core/chains/missing.ts';
import type { Resolution, ResolveInput, ResolveMode } from '../../../../../src/core/chains/chain-rules.ts';
import type { ChainStep } from '../../../../../src/core/chains/chain-steps.ts';

export type Resolve = (input: ResolveInput) => Resolution;

/** Answers for an id: its row, null if the hub has none, undefined if the hub gives no answer. */
export type Ask = (id: string) => ChainRow | null | undefined;

export interface Delivery {
  readonly rows?: readonly ChainRow[] | undefined;
  readonly vanished?: readonly string[] | undefined;
  readonly revisit?: readonly string[] | undefined;
  readonly mode?: ResolveMode | undefined;
  /** Without it, the hub is not asked. */
  readonly ask?: Ask | undefined;
  /** The outcome is computed and then lost. */
  readonly crash?: boolean | undefined;
}

/** Does what a worker does around the resolver: it commits an index of encoded entries and topics together. */
export class ChainShell {
  readonly steps: ChainStep[] = [];
  /** This is the compacted topic `absences`. */
  readonly currents = new Map<string, string>();
  /** The rows as they were last committed. */
  readonly committed = new Map<string, ChainRow>();
  /** These steps broke invariant 11: they put a record under another student's absence id. */
  readonly strangers: string[] = [];
  /** The current record of each absence id. */
  readonly #shown = new Map<string, { readonly versionId: string; readonly studentId: string | null }>();
  readonly #resolve: Resolve;
  readonly #versions = new Map<string, Buffer>();
  readonly #absences = new Map<string, Buffer>();
  #sequence = 0;
  #isRebuilt = false;

  constructor(resolve: Resolve) {
    this.#resolve = resolve;
  }

  deliver(delivery: Delivery): Resolution {
    const input = this.#lookUp(delivery);
    const outcome = this.#resolve(input);
    if (delivery.crash === true) return outcome;
    this.#sequence += 1;
    for (const row of input.rows) this.committed.set(row.id, row);
    for (const [id, entry] of outcome.versions) {
      if (entry === null) this.#versions.delete(id);
      else this.#versions.set(id, encodeVersionEntry(id, entry));
    }
    for (const [id, entry] of outcome.absences) this.#absences.set(id, encodeAbsenceEntry(id, entry));
    this.#checkStudents(outcome);
    this.steps.push(...outcome.steps);
    for (const { absenceId, versionId } of outcome.currents) {
      if (versionId === null) this.currents.delete(absenceId);
      else this.currents.set(absenceId, versionId);
    }
    return outcome;
  }

  /** The hub may assign the current record to another student; then the absence continues as that student's. */
  #checkStudents({ steps, currents }: Resolution): void {
    const studentOf = (id: string): string | null => this.committed.get(id)?.studentId ?? null;
    for (const { absenceId, step, versionId, operation } of steps) {
      const { versionId: shown = '', studentId: before = null } = this.#shown.get(absenceId) ?? {};
      const after = studentOf(versionId);
      const isOfBefore = before === null || after === null || before === after;
      // If the record is another student's now, a deletion gives no more than the id (see render-chains.ts): the absence
      // stays that of the student before.
      if (!isOfBefore && operation === 'DELETED') continue;
      const isSame = isOfBefore || studentOf(shown) === after;
      if (!isSame)
        this.strangers.push(`${absenceId}#${step} ${versionId} of ${after} replaced a record of ${before}`);
      this.#shown.set(absenceId, { versionId, studentId: after ?? studentOf(shown) ?? before });
    }
    for (const { absenceId, versionId } of currents) {
      const before = this.#shown.get(absenceId);
      if (versionId !== null && before?.versionId === versionId)
        this.#shown.set(absenceId, { versionId, studentId: studentOf(versionId) ?? before.studentId });
    }
  }

  version(id: string): VersionEntry | null {
    const bytes = this.#versions.get(id);
    return bytes === undefined ? null : decodeVersionEntry(id, bytes);
  }

  absence(id: string): AbsenceEntry | null {
    const bytes = this.#absences.get(id);
    return bytes === undefined ? null : decodeAbsenceEntry(id, bytes);
  }

  absenceIds(): string[] {
    return [...this.#absences.keys()];
  }

  /** Forgets an absence as a worker does when its events have expired. */
  forget(absenceId: string): void {
    this.#absences.delete(absenceId);
  }

  /**
   * Makes the shell of a worker that lost its index: it knows what the topics hold after compaction, which are the
   * records of the versions at the hub and the last event of each absence.
   */
  rebuilt(): ChainShell {
    const shell = new ChainShell(this.#resolve);
    const rows = this.present().map((id) => this.committed.get(id) as ChainRow);
    const absenceIds = new Map<string, string>();
    for (const absenceId of this.absenceIds()) {
      const entry = this.absence(absenceId) as AbsenceEntry;
      shell.#absences.set(absenceId, encodeAbsenceEntry(absenceId, entry));
      if (entry.mergedInto === null) absenceIds.set(entry.publishedVersionId, absenceId);
    }
    const known = new Map(rows.map((row) => [row.id, row]));
    const references = rows.flatMap(({ id, replaces, replacedBy }) =>
      [replaces, replacedBy].filter((to) => to !== null && to !== id).map((to) => ({ from: id, to })),
    );
    const linkedFrom = Map.groupBy(references, ({ to }) => to);
    for (const id of new Set([...known.keys(), ...references.map(({ to }) => to as string)])) {
      const row = known.get(id);
      const others = (linkedFrom.get(id) ?? []).map(({ from }) => from);
      const entry: VersionEntry = {
        state: row === undefined ? 'gone' : 'present',
        replaces: row?.replaces ?? null,
        replacedBy: row?.replacedBy ?? null,
        linkedFrom: [...new Set(others)]
          .filter((other) => other !== row?.replaces && other !== row?.replacedBy)
          .sort(),
        isDeleted: row?.isDeleted ?? false,
        student: studentFingerprint(
          row === undefined ? null : (row.studentId ?? this.#publishedStudent(absenceIds.get(id))),
        ),
        absenceId: row === undefined ? null : (absenceIds.get(id) ?? null),
        isResolved: true,
      };
      shell.#versions.set(id, encodeVersionEntry(id, entry));
    }
    for (const [versionId, absenceId] of absenceIds) {
      const row = this.committed.get(versionId);
      if (known.has(versionId) || row === undefined) continue;
      const { replaces, replacedBy, isDeleted } = row;
      const studentId = row.studentId ?? this.#publishedStudent(absenceId);
      const linkedFrom = shell.version(versionId)?.linkedFrom ?? [];
      const links = { replaces, replacedBy, linkedFrom, isDeleted, student: studentFingerprint(studentId) };
      const entry: VersionEntry = { ...links, state: 'vanished', absenceId, isResolved: true };
      shell.#versions.set(versionId, encodeVersionEntry(versionId, entry));
    }
    for (const row of this.committed.values()) shell.committed.set(row.id, row);
    for (const [absenceId, shown] of this.#shown) shell.#shown.set(absenceId, shown);
    shell.strangers.push(...this.strangers);
    for (const [absenceId, versionId] of this.currents) shell.currents.set(absenceId, versionId);
    shell.steps.push(...this.steps);
    shell.#sequence = this.#sequence;
    shell.#isRebuilt = true;
    return shell;
  }

  #publishedStudent(absenceId: string | undefined): string | null {
    return this.#shown.get(absenceId ?? '')?.studentId ?? null;
  }

  /** A rebuilt index may still learn from unchanged rows to which absence they belong. */
  get isRebuilt(): boolean {
    return this.#isRebuilt;
  }

  /** The ids of versions at the hub, as far as the index knows. */
  present(): string[] {
    return [...this.#versions.keys()].filter((id) => this.version(id)?.state === 'present');
  }

  unsettled(): string[] {
    return [...this.#versions.keys()].filter((id) => this.version(id)?.isResolved === false);
  }

  #lookUp(delivery: Delivery): ResolveInput {
    const rows = new Map((delivery.rows ?? []).map((row) => [row.id, row]));
    const gone = new Set<string>();
    const versions = new Map<string, VersionEntry | null>();
    const absences = new Map<string, AbsenceEntry | null>();
    const mute = new Set<string>();
    for (;;) {
      const input: ResolveInput = {
        rows: [...rows.values()],
        gone: [...gone],
        vanished: delivery.vanished,
        revisit: delivery.revisit,
        chainState: { versions, absences },
        mode: delivery.mode ?? 'page',
        sequence: this.#sequence,
      };
      const wanted = missing(input);
      for (const id of wanted.versions) versions.set(id, this.version(id));
      for (const id of wanted.absences) absences.set(id, this.absence(id));
      if (wanted.versions.length > 0 || wanted.absences.length > 0) continue;
      const askFor = wanted.hub.filter((id) => !mute.has(id));
      if (delivery.ask === undefined || askFor.length === 0) return input;
      for (const id of askFor) {
        const answer = delivery.ask(id);
        if (answer === null) gone.add(id);
        else if (answer === undefined) mute.add(id);
        else rows.set(id, answer);
      }
    }
  }
}
