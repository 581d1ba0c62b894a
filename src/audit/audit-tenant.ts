import type { AbsenceChangeValue } from '../core/absences/event-encoder.ts';
import { isShown, type AbsenceEntry } from '../core/absences/absence-entry.ts';
import type { AbsenceVersionValue } from '../core/absences/absence-version.ts';
import { decodeEntry } from '../core/absences/entry-codec.ts';
import { CONTENT_HASH_BYTES, HASH_OF_NO_ROW } from '../core/rows/content-hash.ts';
import { hasCode } from '../errors.ts';
import type { LoggedRecord } from '../log/log.ts';
import { topicReader, type ReadOnlyLog, type TopicReader } from '../log/read-only-log.ts';
import { isDerivedCollection, sourceOf, type CollectionName } from '../model/collections.ts';
import { splitCompositeKey } from '../model/keys.ts';
import type { Assembly } from '../session/assemble.ts';
import type { Tenant } from '../table/tenant.ts';
import type { CollectionIndex } from '../state/index-store.ts';
import { inParts, lookUpAll } from '../table/look-up-all.ts';
import type { LookUp } from '../table/table.ts';
import { checkRecord, type CheckedTenant } from './record-check.ts';
import { PublishedAbsences } from './published-absences.ts';

/**
 * - `missing`: the index has it, the topic does not
 * - `left-over`: the topic has it, the index does not
 * - `different`: both have it, with different content
 * - `undecodable`: the record cannot be decoded, or does not match its hash
 * - `gap`: a published step of an absence is missing, or occurs twice
 * - `two-students`: records of two students have the same absence id
 * - `reject-missing`, `reject-left-over`: the same for unreadable rows
 */
type FindingKind =
  | 'missing'
  | 'left-over'
  | 'different'
  | 'undecodable'
  | 'gap'
  | 'two-students'
  | 'reject-missing'
  | 'reject-left-over';

export interface Finding {
  readonly collection: CollectionName;
  /** Key of the record. For a reject, the part of its key after the name of the collection. */
  readonly key: string;
  readonly kind: FindingKind;
}

export interface TopicAudit {
  readonly collection: CollectionName;
  /** Keys with a value. */
  readonly keys: number;
  readonly findings: readonly Finding[];
  /** Keys that kept changing, or whose index stayed behind the log. They were not compared with the index. */
  readonly skipped: number;
}

export interface AuditOptions {
  readonly tenantId: string;
  readonly collections: readonly CollectionName[];
  /** Called with how many records of a collection's topics were read. */
  readonly onRead: (collection: CollectionName, records: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Reads each topic to its end, checks each record, and compares the keys and contents with the index. It owns nothing
 * and writes nothing. It does not compare an index that is lost, in the memory of another process, or being rebuilt.
 * Throws `KAFKA_…`, `REGISTRY_…`, `INDEX_…`.
 */
export async function auditTenant(assembly: Assembly, options: AuditOptions): Promise<readonly TopicAudit[]> {
  const { tenantId, collections, onRead, signal } = options;
  const parts = assembly.tenant(tenantId);
  const log = parts.openReadOnlyLog();
  const tenant = { ...parts, decode: (framed: Buffer) => assembly.registry.decodeOrNull(framed) };
  const rejects = new Map(collections.map((name) => [name, new Contents(tenant)]));
  const rejectsReader = topicReader(log, ['rejects'], async (record) => {
    const [name = '', key = ''] = splitCompositeKey(record.key) ?? [];
    await rejects.get(name as CollectionName)?.take({ ...record, key });
  });
  const published = new PublishedAbsences();
  const audits: TopicAudit[] = [];
  // One topic after another, so that only the contents of one topic are in memory.
  for (const collection of collections) {
    signal.throwIfAborted();
    const contents = new Contents(tenant);
    const isDerived = isDerivedCollection(collection);
    let read = 0;
    const reader = topicReader(log, [collection], async (record) => {
      onRead(collection, (read += 1));
      const value = await contents.take(record);
      const { key, mapping } = record;
      if (!isDerivedCollection(collection)) return;
      if (record.value === null) published.forget(collection, key);
      else if (collection === 'absences')
        published.takeShown(key, value as AbsenceVersionValue | null, mapping);
      else published.takeEvent(key, value as AbsenceChangeValue | null, mapping);
    });
    const index = parts.state.collection(sourceOf(collection));
    const sides: Side[] = [{ collection, area: isDerived ? 'absences' : 'rows', contents, index, reader }];
    const rejected = rejects.get(collection);
    if (!isDerived && rejected !== undefined)
      sides.push({ collection, area: 'rejects', contents: rejected, index, reader: rejectsReader });
    const compared: Awaited<ReturnType<typeof compareSide>>[] = [];
    for (const side of sides) compared.push(await compareSide(side, { parts, log, signal }));
    const findings = compared.flatMap((each) => each.findings);
    const skipped = compared.reduce((sum, each) => sum + each.skipped, 0);
    audits.push({ collection, keys: contents.byKey.size, findings, skipped });
  }
  const problems = published.problems();
  return audits.map(({ findings, ...audit }) =>
    Object.assign(audit, {
      findings: [...findings, ...problems.filter(({ collection }) => collection === audit.collection)],
    }),
  );
}

/** The last contents of a topic, or of one collection in `rejects`, in the form in which the index has them. */
class Contents {
  readonly byKey = new Map<string, string>();
  readonly unsound = new Set<string>();
  /** While set, it collects the keys of the records that are read. */
  fresh: Set<string> | null = null;
  readonly #tenant: CheckedTenant;

  constructor(tenant: CheckedTenant) {
    this.#tenant = tenant;
  }

  /** Returns the value; null for a removal, or if the value cannot be read. */
  async take(record: LoggedRecord): Promise<object | null> {
    const { topic, key, value: framed, hash } = record;
    this.fresh?.add(key);
    this.unsound.delete(key);
    if (framed === null) {
      this.byKey.delete(key);
      return null;
    }
    const { value, isSound } = await checkRecord(this.#tenant, { topic, hash, value: framed });
    if (!isSound) this.unsound.add(key);
    const { step = 0, version } = (value ?? {}) as Partial<AbsenceChangeValue>;
    const isEvent = topic === 'absence-changes';
    this.byKey.set(key, isEvent ? eventText(step, version?.sourcedId ?? '') : hashText(hash));
    return value;
  }
}

/** 16 Latin-1 characters: lossless, and a quarter of the memory of a Buffer. */
function hashText(hash: Buffer | null): string {
  return hash?.length === CONTENT_HASH_BYTES ? hash.toString('latin1') : NO_HASH;
}

function eventText(step: number, versionId: string): string {
  return `${step} ${versionId}`;
}

/** The index holds this hash for a record without a hash: the next full sync publishes or removes the key. */
const NO_HASH = HASH_OF_NO_ROW.toString('latin1');
const ATTEMPTS = 5;
const BETWEEN_ATTEMPTS_MS = 500;
/** How often in a row an index may change between two reads. */
const MOVES_AT_MOST = 50;

/** A topic, or the part of `rejects` that belongs to a collection, together with the area of the index that must agree with it. */
interface Side {
  readonly collection: CollectionName;
  readonly area: 'rows' | 'rejects' | 'absences';
  readonly contents: Contents;
  readonly index: CollectionIndex;
  /** Reads the topic into `contents`. */
  readonly reader: TopicReader;
}

interface Comparing {
  readonly parts: Tenant;
  readonly log: ReadOnlyLog;
  readonly signal: AbortSignal;
}

/** Reads the topic of a side to its end, and compares it with its index. */
async function compareSide(side: Side, shared: Comparing): Promise<Pick<TopicAudit, 'findings' | 'skipped'>> {
  const { collection, area, contents, reader } = side;
  await reader.readOn(shared.signal);
  const { differing, left } = await differencesOf(side, shared);
  for (const key of contents.unsound) differing.set(key, 'undecodable');
  const kindOf = (kind: FindingKind): FindingKind =>
    area !== 'rejects' ? kind : kind === 'left-over' ? 'reject-left-over' : 'reject-missing';
  const findings = [...differing].map(([key, kind]) => ({ collection, key, kind: kindOf(kind) }));
  return { findings, skipped: left };
}

/**
 * The keys for which index and topic differ. A key counts only under two conditions: the index reflects the last
 * transaction that the log had after the topic was read; and the topic, read on after the index was read, has no
 * newer record of the key. `left`: the keys that never met both conditions.
 */
async function differencesOf(
  side: Side,
  { log, parts, signal }: Comparing,
): Promise<{ differing: Map<string, FindingKind>; left: number }> {
  const { contents, reader } = side;
  const { byKey, unsound } = contents;
  const differing = new Map<string, FindingKind>();
  let doubtful: readonly string[] = [];
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const last = (await log.progress(signal)).progress.get(sourceOf(side.collection))?.sequence ?? 0;
    const fresh = (contents.fresh = new Set<string>());
    const found = new Map<string, string | null>();
    for await (const keys of attempt === 1 ? allKeys(side) : inParts(doubtful)) {
      const indexed = await lookUp(side, keys);
      if (indexed === null) return { differing, left: 0 };
      for (const [key, content] of indexed.contents) {
        if (unsound.has(key) || content === NO_HASH || content === (byKey.get(key) ?? null)) continue;
        found.set(key, content);
        if (indexed.sequence < last) fresh.add(key);
      }
    }
    await reader.readOn(signal);
    for (const [key, content] of found)
      if (!fresh.has(key))
        differing.set(key, !byKey.has(key) ? 'missing' : content === null ? 'left-over' : 'different');
    doubtful = [...fresh].filter((key) => found.has(key));
    if (doubtful.length === 0) break;
    await parts.runtime.sleep(BETWEEN_ATTEMPTS_MS, signal);
  }
  return { differing, left: doubtful.length };
}

/** The keys of the index, then those that only the topic has. */
async function* allKeys({ area, contents, index }: Side): AsyncGenerator<readonly string[]> {
  const unseen = new Set(contents.byKey.keys());
  for await (const keys of index.keys(area)) {
    for (const key of keys) unseen.delete(key);
    yield keys;
  }
  yield* inParts([...unseen]);
}

/** The contents that the topic must have according to the index, at one position; null if the index is lost. */
async function lookUp(
  side: Side,
  keys: readonly string[],
): Promise<{ contents: ReadonlyMap<string, string | null>; sequence: number } | null> {
  for (let moves = 0; ; moves += 1) {
    const position = await side.index.position();
    if (position === null) return null;
    const { sequence, transactionId: at } = position;
    try {
      return { contents: await contentsIn(side, { keys, at }), sequence };
    } catch (error) {
      if (!hasCode(error, 'INDEX_DIVERGED') || moves === MOVES_AT_MOST) throw error;
    }
  }
}

async function contentsIn(
  { collection, area, index }: Side,
  { keys, at }: { keys: readonly string[]; at: string },
): Promise<ReadonlyMap<string, string | null>> {
  const contents = new Map<string, string | null>();
  const shown = new Map<string, string>();
  const atPosition: LookUp = (...of) => index.lookup(...of, at);
  const values = await lookUpAll(atPosition, area, keys);
  for (const key of keys) {
    const value = values.get(key) ?? null;
    const entry = value === null || area !== 'absences' ? null : readable(key, value);
    const { step = 0, versionId = '' } = entry?.published ?? {};
    // The bytes of an unreadable entry are unlike any content of a topic, so the key counts as different.
    if (entry === null) contents.set(key, value?.toString('latin1') ?? null);
    else if (collection === 'absences' && isShown(entry)) shown.set(key, versionId);
    else contents.set(key, collection === 'absences' || step === 0 ? null : eventText(step, versionId));
  }
  // The value of an absence is the row of the version that was published last.
  const rows = await lookUpAll(atPosition, 'rows', [...shown.values()]);
  for (const [key, id] of shown) contents.set(key, rows.get(id)?.toString('latin1') ?? NO_HASH);
  return contents;
}

function readable(key: string, value: Buffer): AbsenceEntry | null {
  try {
    return decodeEntry(key, value);
  } catch {
    return null;
  }
}
