import type { AbsenceStep } from '../core/absences/absence-entry.ts';
import type { AbsenceVersionValue } from '../core/absences/absence-version.ts';
import type { ReadableRow } from '../core/rows/decoded-row.ts';
import { applyMapping, type LoggedValue } from '../core/rows/apply-mapping.ts';
import { isFramed } from '../log/registry/framing.ts';
import type { LoggedRecord, TenantLog } from '../log/log.ts';
import type { IndexChange } from '../state/index-store.ts';
import type { TenantAbsences } from '../table/tenant.ts';
import type { Table } from '../table/table.ts';

type Stored = Pick<LoggedRecord, 'mapping'> & { readonly framed: Buffer };

/** The record of a version, as the mapping in force gives it (invariant 12). */
export interface VersionRecord {
  readonly value: AbsenceVersionValue;
  /** Avro body of `absence-versions`. */
  readonly body: Buffer;
  /** Null if the version's row in the index has the hash. */
  readonly hash: Buffer | null;
}

/**
 * The records of the versions that a transaction publishes: rows of the transaction, records that waited in the index,
 * and records read back from the log. A version is in up to three records, and is encoded once for all of them.
 */
export class VersionRecords {
  readonly #absences: TenantAbsences;
  readonly #table: Table;
  readonly #rows: ReadonlyMap<string, ReadableRow>;
  /** Versions whose records may be waiting in the index: the members of open absences. */
  readonly #mayWait: ReadonlySet<string>;
  readonly #records = new Map<string, VersionRecord>();

  constructor(
    absences: TenantAbsences,
    table: Table,
    { rows, mayWait }: { rows: ReadonlyMap<string, ReadableRow>; mayWait: ReadonlySet<string> },
  ) {
    this.#absences = absences;
    this.#table = table;
    this.#rows = rows;
    this.#mayWait = mayWait;
  }

  has(versionId: string): boolean {
    return this.#rows.has(versionId) || this.#records.has(versionId);
  }

  /** Returns the record of a version, or a record with only the id if none was loaded. */
  get(versionId: string): VersionRecord {
    const known = this.#records.get(versionId);
    if (known !== undefined) return known;
    const row = this.#rows.get(versionId);
    const value = (row?.value ?? { sourcedId: versionId }) as AbsenceVersionValue;
    const body = this.#table.staged.bodies.get(value) ?? this.#absences.reader.encode(value);
    const record = { value, body, hash: row?.hash ?? null };
    this.#records.set(versionId, record);
    return record;
  }

  onlyId(versionId: string): Buffer {
    return this.#absences.reader.encode({ sourcedId: versionId });
  }

  /** Reads records that wait in the index. Returns the ids whose records do not wait there. */
  async load(versionIds: Iterable<string>): Promise<Set<string>> {
    const lacking = [...new Set(versionIds)].filter((id) => !this.has(id));
    const waiting = lacking.filter((id) => this.#mayWait.has(id));
    const kept = waiting.length === 0 ? [] : await this.#table.lookUpCommitted('bodies', waiting);
    for (const [at, id] of waiting.entries()) {
      const bytes = kept[at] ?? null;
      if (bytes !== null) this.#take(id, decodeKept(bytes));
    }
    return new Set(lacking.filter((id) => !this.has(id)));
  }

  #take(versionId: string, logged: LoggedValue): void {
    const { reader } = this.#absences;
    const value = applyMapping(reader, logged) as AbsenceVersionValue;
    // The hash of the row in the index may be from another mapping.
    const hash = reader.hashOf(value);
    this.#records.set(versionId, { value, body: reader.encode(value), hash });
  }

  /**
   * Reads the records that are still lacking back from the log: `absences` holds the record that was shown last, until its
   * deletion; `absence-versions` holds what the hub has. It reads the topics from beginning to end, so it is used only
   * at the end of a sync.
   */
  async readBack(
    log: Pick<TenantLog, 'read'>,
    steps: readonly AbsenceStep[],
    { lacking, signal }: { lacking: ReadonlySet<string>; signal: AbortSignal },
  ): Promise<void> {
    const some = steps.filter(({ versionId }) => lacking.has(versionId));
    const ended = some.flatMap(({ operation, absenceId }) => (operation === 'DELETED' ? absenceId : []));
    const current = some.flatMap(({ operation, versionId }) => (operation === 'DELETED' ? [] : versionId));
    await this.#readTopic(log, 'absences', { wanted: new Set(ended), lacking, signal });
    await this.#readTopic(log, 'absence-versions', { wanted: new Set(current), lacking, signal });
  }

  async #readTopic(
    log: Pick<TenantLog, 'read'>,
    topic: 'absences' | 'absence-versions',
    of: { wanted: ReadonlySet<string>; lacking: ReadonlySet<string>; signal: AbortSignal },
  ): Promise<void> {
    const { wanted, lacking, signal } = of;
    if (wanted.size === 0) return;
    const found = new Map<string, Stored>();
    const onBatch = (records: readonly LoggedRecord[]): void => {
      for (const { key, value, mapping } of records) {
        if (!wanted.has(key)) continue;
        if (value === null || !isFramed(value)) found.delete(key);
        // The value is a part of a larger buffer, so keep a copy.
        else found.set(key, { framed: Buffer.from(value), mapping });
      }
    };
    await log.read({ from: [{ topic, after: {} }], onBatch, signal });
    for (const { framed, mapping } of found.values()) {
      const value = (await this.#absences.decode(framed, [topic])) as AbsenceVersionValue | null;
      if (value !== null && lacking.has(value.sourcedId)) this.#take(value.sourcedId, { value, mapping });
    }
  }

  /** The bytes that keep a record in the index while it waits. */
  kept(versionId: string): Buffer {
    const { mapping } = this.#absences.reader;
    return encodeKept({ value: this.get(versionId).value, mapping });
  }
}

/** An entry that is copied from or to `absence-state`, as the mapping in force leaves it (invariant 12). */
export function copied(absences: TenantAbsences, change: IndexChange): IndexChange {
  const { area, value } = change;
  if (value === null) return change;
  if (area === 'bodies') return { ...change, value: keptUnderMapping(absences, value) };
  return area === 'absent' && absences.absentSinceMs() === null ? { ...change, value: null } : change;
}

function keptUnderMapping({ reader }: Pick<TenantAbsences, 'reader'>, bytes: Buffer): Buffer {
  const kept = decodeKept(bytes);
  const { mapping } = reader;
  if (mapping === null || kept.mapping === mapping) return bytes;
  return encodeKept({ value: applyMapping(reader, kept), mapping });
}

/** JSON, because a later version of Rollcall, with another schema, reads what this one keeps. */
function encodeKept(kept: LoggedValue): Buffer {
  return Buffer.from(JSON.stringify(kept));
}

function decodeKept(bytes: Buffer): LoggedValue {
  return JSON.parse(bytes.toString()) as LoggedValue;
}
