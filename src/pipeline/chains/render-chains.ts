import { absentEntryOf, encodeAbsent } from '../../core/chains/absent-entry.ts';
import type { AbsenceVersionValue } from '../../core/chains/chain-row.ts';
import type { ChainStep } from '../../core/chains/chain-steps.ts';
import { changeHash, operationOf } from '../../core/absence-change.ts';
import { absenceChangeHeaders, changeHeaders, type ChangeKind } from '../../core/cloud-events.ts';
import type { EncodeEvent } from '../../core/event-encoder.ts';
import type { OutgoingRecord } from '../../log/log.ts';
import type { IndexChange } from '../../state/index-store.ts';
import { noTally, type ChainOutcome, type ChainTask } from './chain-task.ts';
import { dayNumber } from './ended-day.ts';
import { indexChains } from './index-chains.ts';
import type { Resolved } from './resolve-task.ts';
import type { VersionBodies } from './version-bodies.ts';

export interface RenderChainsParts {
  readonly tenantId: string;
  /** Id of the mapping in force (core/mapping-id.ts); null if it drops and pseudonymises nothing. */
  readonly mapping: string | null;
  readonly encodeEvent: EncodeEvent;
  /** Absences that ended before this time (ms since the epoch) are not kept by student. */
  readonly absentSinceMs: () => number;
  readonly now: () => number;
}

type RenderedChains = Resolved & { readonly bodies: VersionBodies };
type RenderedTask = Pick<ChainTask, 'mode' | 'place' | 'snapshot' | 'republishes' | 'changed'>;

/** Turns a resolution into records and index changes. */
export function renderChains(
  parts: RenderChainsParts,
  task: RenderedTask,
  resolved: RenderedChains,
): Omit<ChainOutcome, 'contradictions'> {
  const draft = new OutcomeDraft(parts, task, resolved);
  draft.renderSteps();
  draft.renderCurrents();
  return draft.outcome();
}

class OutcomeDraft {
  readonly #parts: RenderChainsParts;
  readonly #task: RenderedTask;
  readonly #resolved: RenderedChains;
  readonly #records: OutgoingRecord[] = [];
  readonly #changes: IndexChange[] = [];
  readonly #tally = noTally();
  readonly #students = new Set<string>();
  readonly #shown = new Map<string, Buffer | null>();

  constructor(parts: RenderChainsParts, task: RenderedTask, resolved: RenderedChains) {
    this.#parts = parts;
    this.#task = task;
    this.#resolved = resolved;
  }

  outcome(): Omit<ChainOutcome, 'contradictions'> {
    const { changed } = this.#task;
    const indexed = indexChains({
      resolved: this.#resolved,
      revisit: changed.revisit,
      shown: this.#shown,
      today: dayNumber(this.#parts.now()),
    });
    return {
      records: this.#records,
      changes: [...this.#changes, ...indexed],
      tally: this.#tally,
      publishedOpen: this.#publishedOpen(),
      students: this.#students,
    };
  }

  #publishedOpen(): number {
    if (this.#task.mode === 'page') return 0;
    return this.#resolved.resolution.open.filter(({ waitingFor }) => waitingFor.length > 0).length;
  }

  renderSteps(): void {
    const { tenantId, encodeEvent, mapping, now } = this.#parts;
    const { bodies } = this.#resolved;
    const { absences, vanished: left, steps } = this.#resolved.resolution;
    for (const step of steps) {
      const { versionId, previousVersionId, ...published } = step;
      const version = this.#changedStudent(step) ? { sourcedId: versionId } : this.#record(versionId);
      const previousVersion =
        previousVersionId === null ? null : this.#previousOf(version, previousVersionId);
      const facts = { ...published, snapshot: this.#task.snapshot, detectedAt: now() };
      const encode = (previous: AbsenceVersionValue | null): Buffer =>
        encodeEvent(facts, bodies.of(version), previous === null ? null : bodies.of(previous));
      const whole = encode(previousVersion);
      const isTooLarge = previousVersion !== null && whole.length > LARGEST_EVENT_BYTES;
      const body = isTooLarge ? encode({ sourcedId: previousVersion.sourcedId }) : whole;
      this.#tally[operationOf(step)] += 1;
      this.#noteStudent(version);
      this.#records.push({
        topic: 'absence-changes',
        key: step.absenceId,
        body,
        headers: absenceChangeHeaders({
          tenantId,
          id: this.#nextId(),
          operation: operationOf(step),
          modifiedAtMs: version.dateLastModified ?? null,
          hash: changeHash(body),
          firstSequence: absences.get(step.absenceId)?.since ?? null,
          mapping,
        }),
      });
    }
    for (const absenceId of left) this.#forget(absenceId);
  }

  /** If the hub assigned the previous record to another student, the event gets only its id (invariant 11). */
  #previousOf(version: AbsenceVersionValue, previousId: string): AbsenceVersionValue {
    const previous = this.#record(previousId);
    const [one, other] = [version.student?.sourcedId, previous.student?.sourcedId];
    return one === undefined || other === undefined || one === other ? previous : { sourcedId: previousId };
  }

  /**
   * Whether the record of a deletion belongs to another student now, and to another absence; then the event gets only
   * its id.
   */
  #changedStudent({ absenceId, versionId }: ChainStep): boolean {
    const { known, resolution } = this.#resolved;
    const before = known.versions.get(versionId) ?? null;
    const after = resolution.versions.get(versionId) ?? null;
    if (before === null || after === null || after.absenceId === absenceId) return false;
    const student = known.absences.get(absenceId)?.student || before.student;
    return student !== 0 && student !== after.student;
  }

  renderCurrents(): void {
    for (const { absenceId, versionId } of this.#resolved.resolution.currents) {
      const before = this.#resolved.known.shown.get(absenceId) ?? null;
      if (versionId === null) {
        if (before !== null) this.#hide(absenceId);
        continue;
      }
      const hash = this.#resolved.hashes.get(versionId) ?? null;
      if (hash === null) continue;
      const isAgain = this.#showsAgain(absenceId, versionId);
      if (before?.equals(hash) === true && !isAgain) continue;
      this.#show({ absenceId, versionId, hash, kind: before === null ? 'created' : 'updated' });
    }
    this.#hideDeleted();
  }

  #showsAgain(absenceId: string, versionId: string): boolean {
    return this.#resolved.records.has(versionId) && this.#task.republishes?.(absenceId) === true;
  }

  /** Hides absences that were shown before `absence-changes` was lost, and are now published as deleted. */
  #hideDeleted(): void {
    const { known, resolution } = this.#resolved;
    for (const [absenceId, { isPublishedAsDeleted }] of resolution.absences) {
      const isShown = !this.#shown.has(absenceId) && (known.shown.get(absenceId) ?? null) !== null;
      if (isPublishedAsDeleted && isShown) this.#hide(absenceId);
    }
  }

  #show(current: { absenceId: string; versionId: string; hash: Buffer; kind: ChangeKind }): void {
    const { tenantId, absentSinceMs, mapping } = this.#parts;
    const { absenceId, hash, kind } = current;
    const value = this.#record(current.versionId);
    this.#tally.shown += 1;
    this.#noteStudent(value);
    this.#shown.set(absenceId, hash);
    this.#records.push({
      topic: 'absences',
      key: absenceId,
      body: this.#resolved.bodies.of(value),
      headers: changeHeaders({
        tenantId,
        topic: 'absences',
        id: this.#nextId(),
        kind,
        modifiedAtMs: value.dateLastModified ?? null,
        hash,
        mapping,
      }),
    });
    const absent = absentEntryOf(value);
    const isKept = absent !== null && absent.toMs >= absentSinceMs();
    this.#changes.push({ area: 'absent', key: absenceId, value: isKept ? encodeAbsent(absent) : null });
  }

  #hide(absenceId: string): void {
    this.#tally.hidden += 1;
    this.#shown.set(absenceId, null);
    this.#changes.push({ area: 'absent', key: absenceId, value: null });
    this.#records.push(hiding({ tenantId: this.#parts.tenantId, absenceId, id: this.#nextId() }));
  }

  #forget(absenceId: string): void {
    this.#tally.forgotten += 1;
    this.#records.push(forgetting({ tenantId: this.#parts.tenantId, absenceId, id: this.#nextId() }));
  }

  #record(versionId: string): AbsenceVersionValue {
    return this.#resolved.records.get(versionId) ?? { sourcedId: versionId };
  }

  #noteStudent({ student }: AbsenceVersionValue): void {
    if (student !== undefined && student !== null) this.#students.add(student.sourcedId);
  }

  #nextId(): string {
    const { transactionId, firstRecord } = this.#task.place;
    return `${transactionId}-${firstRecord + this.#records.length}`;
  }
}

/** Below Kafka's default `max.message.bytes`. One version always fits; of two, the previous one is cut to its id. */
const LARGEST_EVENT_BYTES = 950_000;

/** The tombstone that removes an absence from `absences`. */
export function hiding(options: { tenantId: string; absenceId: string; id: string }): OutgoingRecord {
  const { tenantId, absenceId, id } = options;
  const headers = changeHeaders({
    tenantId,
    topic: 'absences',
    id,
    kind: 'deleted',
    modifiedAtMs: null,
    hash: null,
  });
  return { topic: 'absences', key: absenceId, body: null, headers };
}

/** The tombstone that removes an absence's key from `absence-changes`. */
export function forgetting(options: { tenantId: string; absenceId: string; id: string }): OutgoingRecord {
  const { tenantId, absenceId, id } = options;
  return {
    topic: 'absence-changes',
    key: absenceId,
    body: null,
    headers: absenceChangeHeaders({
      tenantId,
      id,
      operation: 'deleted',
      modifiedAtMs: null,
      hash: null,
      firstSequence: null,
    }),
  };
}
