import { isShown, type AbsenceEntry, type AbsenceStep } from '../core/absences/absence-entry.ts';
import type { AbsenceVersionValue } from '../core/absences/absence-version.ts';
import { absentEntryOf, encodeAbsent } from '../core/absences/current-absence.ts';
import type { DerivedAbsences } from '../core/absences/derive-absences.ts';
import { encodeAbsence, operationOf } from '../core/absences/event-encoder.ts';
import { shortDigest } from '../core/rows/content-hash.ts';
import {
  changeHeaders,
  ownHeaders,
  REMOVED,
  sharedHeadersOf,
  type ChangeKind,
  type SharedHeaders,
} from '../core/cloud-events.ts';
import type { OutgoingRecord } from '../log/log.ts';
import type { DerivedCollection } from '../model/collections.ts';
import type { IndexChange } from '../state/index-store.ts';
import type { Tenant, TenantAbsences } from '../table/tenant.ts';
import type { Derived } from '../table/staged-batch.ts';
import { noTally } from '../core/sync-stats.ts';
import type { VersionRecord, VersionRecords } from './version-records.ts';

/** A tenant with absences and their changes. */
export type AbsenceTenant = Tenant & { readonly absences: TenantAbsences };

export interface RenderInput {
  readonly derived: DerivedAbsences;
  /** The entries before the derivation. */
  readonly before: ReadonlyMap<string, AbsenceEntry>;
  readonly records: VersionRecords;
  /** Content hashes of the rows of shown versions. */
  readonly hashes: ReadonlyMap<string, Buffer | null>;
  /** The id of a record, by its number among those that are rendered. */
  readonly idOf: (at: number) => string;
  readonly isFirstLoad: boolean;
  /**
   * Whether an absence that was shown before is published again: the row of its version has changed, or was requested
   * again.
   */
  readonly isShownAgain: (absenceId: string, versionId: string) => boolean;
}

export type Rendered = Pick<Derived, 'records' | 'changes' | 'tally' | 'students'>;

/** Turns derived absences into records of `absences` and `absence-changes`, and into changes of the area `absent`. */
export function renderAbsences(tenant: AbsenceTenant, input: RenderInput): Rendered {
  const rendering = new Rendering(tenant, input);
  for (const step of input.derived.steps) rendering.addStep(step);
  for (const absenceId of input.derived.ended) rendering.forget(absenceId);
  const changed = new Set(input.derived.steps.map(({ absenceId }) => absenceId));
  for (const [absenceId, versionId] of input.derived.shown) {
    const entry = input.before.get(absenceId);
    const wasShown = entry !== undefined && isShown(entry);
    if (versionId === null) {
      if (wasShown) rendering.hide(absenceId);
    } else if (!wasShown || changed.has(absenceId) || input.isShownAgain(absenceId, versionId)) {
      rendering.show({ absenceId, versionId, kind: wasShown ? 'updated' : 'created' });
    }
  }
  return rendering;
}

/** Below Kafka's default `max.message.bytes`. One version always fits. If two do not fit, the previous version is cut to its id. */
const LARGEST_EVENT_BYTES = 950_000;

class Rendering implements Rendered {
  readonly records: OutgoingRecord[] = [];
  readonly changes: IndexChange[] = [];
  readonly tally = noTally();
  readonly students = new Set<string>();
  readonly #tenant: AbsenceTenant;
  readonly #input: RenderInput;
  readonly #ofEvents: SharedHeaders;
  readonly #ofAbsences: SharedHeaders;

  constructor(tenant: AbsenceTenant, input: RenderInput) {
    const { tenantId, absences } = tenant;
    const { mapping } = absences.reader;
    this.#tenant = tenant;
    this.#input = input;
    this.#ofEvents = sharedHeadersOf({ tenantId, topic: 'absence-changes', mapping });
    this.#ofAbsences = sharedHeadersOf({ tenantId, topic: 'absences', mapping });
  }

  addStep(step: AbsenceStep): void {
    const { runtime, absences } = this.#tenant;
    const { encodeEvent } = absences;
    const { records, isFirstLoad } = this.#input;
    const { versionId, previousVersionId, ...published } = step;
    const version = records.get(versionId);
    const previous = previousVersionId === null ? null : records.get(previousVersionId).body;
    const facts = { ...published, snapshot: isFirstLoad, detectedAt: runtime.now() };
    let body = encodeEvent(facts, version.body, previous);
    if (previousVersionId !== null && body.length > LARGEST_EVENT_BYTES)
      body = encodeEvent(facts, version.body, records.onlyId(previousVersionId));
    const operation = operationOf(step);
    this.tally[operation] += 1;
    this.#noteStudent(version.value);
    const hash = shortDigest(body);
    const modifiedAtMs = version.value.dateLastModified ?? null;
    this.records.push({
      topic: 'absence-changes',
      key: step.absenceId,
      body,
      headers: ownHeaders({ id: this.#nextId(), modifiedAtMs, hash }),
      sharedHeaders: this.#ofEvents(operation, hash),
    });
  }

  show({ absenceId, versionId, kind }: { absenceId: string; versionId: string; kind: ChangeKind }): void {
    const { absences } = this.#tenant;
    const record = this.#input.records.get(versionId);
    this.tally.shown += 1;
    this.#noteStudent(record.value);
    const hash = this.#hashOf(versionId, record);
    const modifiedAtMs = record.value.dateLastModified ?? null;
    this.records.push({
      topic: 'absences',
      key: absenceId,
      body: encodeAbsence(absenceId, record.body),
      headers: ownHeaders({ id: this.#nextId(), modifiedAtMs, hash }),
      sharedHeaders: this.#ofAbsences(kind, hash),
    });
    const absent = absentEntryOf(record.value);
    const isKept = absent !== null && absent.toMs >= (absences.absentSinceMs() ?? Infinity);
    if (isKept) this.changes.push({ area: 'absent', key: absenceId, value: encodeAbsent(absent) });
    // An absence that was not shown before has no entry to remove.
    else if (kind === 'updated') this.changes.push({ area: 'absent', key: absenceId, value: null });
  }

  #hashOf(versionId: string, { hash }: VersionRecord): Buffer {
    const known = hash ?? this.#input.hashes.get(versionId) ?? null;
    if (known === null) throw new Error('the version that an absence shows has no row');
    return known;
  }

  hide(absenceId: string): void {
    this.tally.hidden += 1;
    this.changes.push({ area: 'absent', key: absenceId, value: null });
    this.#remove('absences', absenceId);
  }

  forget(absenceId: string): void {
    this.tally.forgotten += 1;
    this.#remove('absence-changes', absenceId);
  }

  #remove(topic: DerivedCollection, absenceId: string): void {
    const { tenantId } = this.#tenant;
    this.records.push(absenceRemoval(topic, { tenantId, absenceId, id: this.#nextId() }));
  }

  #noteStudent({ student }: AbsenceVersionValue): void {
    if (student !== undefined && student !== null) this.students.add(student.sourcedId);
  }

  #nextId(): string {
    return this.#input.idOf(this.records.length);
  }
}

/** The tombstone that removes an absence from a topic. */
export function absenceRemoval(
  topic: DerivedCollection,
  { tenantId, absenceId, id }: Readonly<Record<'tenantId' | 'absenceId' | 'id', string>>,
): OutgoingRecord {
  const headers = changeHeaders({ tenantId, topic, id, kind: 'deleted', ...REMOVED });
  return { topic, key: absenceId, body: null, headers };
}
