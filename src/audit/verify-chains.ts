import type { KeyedRow } from '../core/row-changes.ts';
import { isShown } from '../core/absences/absence-entry.ts';
import { versionRowOf, type AbsenceVersionValue } from '../core/absences/absence-version.ts';
import { decodeEntry } from '../core/absences/entry-codec.ts';
import { studentFingerprint } from '../core/absences/student-fingerprint.ts';
import { chainsOf, linkedWith, type HubVersion } from '../core/verify/chain-tails.ts';
import { provesMissing } from '../core/verify/judge-scan.ts';
import { compareChains, type ChainDifference } from '../core/verify/compare-chains.ts';
import type { Difference, DifferenceKind, DifferenceState } from '../core/verify/difference.ts';
import { CHAIN_COLLECTIONS, type ChainCollection } from '../model/collections.ts';
import type { TenantCollection } from '../session/tenant-parts.ts';
import { confirm } from './confirm.ts';
import { lookUpIndex, readKnown, type KnownOfCollection } from './circumstances.ts';
import { ChainTopicsView } from './chain-topics.ts';
import { ASK_AT_MOST, hubRows } from './hub-rows.ts';
import { verifyIndex, type IndexedArea } from './verify-index.ts';
import { indexDifferences } from './report-differences.ts';
import type { CollectionReport, VerifyTools } from './verify-tools.ts';

/** Requested again, a version can refer to versions that were not requested yet: repeat up to this many times. */
const FOLLOW_AT_MOST = 5;
const DAY_MS = 24 * 3_600_000;
/** These do not concern the current versions. */
const BESIDE_TAILS: ReadonlySet<DifferenceKind> = new Set(['left-over', 'gap', 'two-students']);

/** The versions of a scan. When the hub lists a version twice, the first one counts. */
export class VersionsOfHub {
  readonly versions = new Map<string, HubVersion>();
  /** Ids of unreadable versions: their records, and those derived from them, do not change. */
  readonly unreadable = new Set<string>();

  readonly take = ({ decoded }: KeyedRow): void => {
    if (decoded.kind === 'reject') {
      if (decoded.sourcedId !== null) this.unreadable.add(decoded.sourcedId);
    } else if (!this.versions.has(decoded.sourcedId)) {
      this.replace(decoded);
    }
  };

  /** Whether a difference of these versions can be judged: neither they nor their neighbours are unreadable. */
  canJudge(versionIds: readonly (string | null)[]): boolean {
    if (this.unreadable.size === 0) return true;
    return versionIds.every((id) => {
      const row = id === null ? undefined : this.versions.get(id)?.row;
      const linked = [id, row?.replaces, row?.replacedBy];
      return linked.every((each) => each === null || each === undefined || !this.unreadable.has(each));
    });
  }

  replace(decoded: Extract<KeyedRow['decoded'], { kind: 'row' }>): void {
    const value = decoded.value as AbsenceVersionValue;
    this.versions.set(decoded.sourcedId, {
      row: versionRowOf(value, decoded.studentId == null ? null : studentFingerprint('', decoded.studentId)),
      hash: decoded.hash.toString('latin1'),
      modifiedAtMs: decoded.modifiedAtMs,
      deletedMs: value.deletedTime ?? null,
    });
  }
}

export interface VerifyChainsOptions {
  /** `absence-versions` */
  readonly collection: TenantCollection;
  readonly hub: VersionsOfHub;
  readonly forgetAfterMs: number;
  /** Versions whose removal the next full sync will withhold, although no list has them yet. */
  readonly withheld: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

/** Compares `absences` and `absence-changes` with the chains of the hub's versions. */
export async function verifyChains(
  tools: VerifyTools,
  options: VerifyChainsOptions,
): Promise<readonly CollectionReport[]> {
  const { hub, signal } = options;
  const topics = new ChainTopicsView(tools, tools.check);
  const readOn = (): Promise<void> => topics.readOn(signal);
  tools.onProgress({ collection: 'absences', what: 'versions in chains', count: hub.versions.size });
  await readOn();
  const forgottenBeforeMs = tools.parts.runtime.now() - options.forgetAfterMs + DAY_MS;
  const isCertain = ({ collection: name, key, versionIds }: ChainDifference): boolean => {
    const record = name === 'absences' ? topics.absences.get(key) : topics.changes.get(key);
    return hub.canJudge([...versionIds, record?.versionId ?? null]);
  };
  const chains = chainsOf(hub.versions);
  const live = chains.filter(({ tail }) => tail !== null).length;
  let found = compareChains({ chains, versions: hub.versions, topics, forgottenBeforeMs }).filter(isCertain);
  const before = found.length;
  const differences = await confirm(tools, {
    hasAny: before > 0,
    async check() {
      const touched = await askAgain(tools, options, found);
      const circumstances = await circumstancesOf(tools, touched, options);
      await readOn();
      const odd = await oddIn(tools);
      const isSound = ({ key, kind, versionIds }: ChainDifference): boolean =>
        kind === 'undecodable' || ![key, ...versionIds].some((id) => odd.has(id));
      found = compareAgain(found, { touched, hub, topics, forgottenBeforeMs })
        .filter(isCertain)
        .filter(isSound);
      return found.map((each) => ({
        collection: each.collection,
        key: each.key,
        kind: each.kind,
        state: stateOfChain(each, hub.versions, circumstances),
      }));
    },
    signal,
  });
  const indexed = await verifyIndexed(tools, { topics, readOn, signal, known: differences });
  return CHAIN_COLLECTIONS.map((name): CollectionReport => {
    const own = differences.filter((each) => each.collection === name);
    return {
      collection: name,
      outcome: 'compared',
      why: null,
      remedy: null,
      foreseen: null,
      hubRows: live,
      topicKeys: name === 'absences' ? topics.absences.size : topics.changes.size,
      equal: live - own.filter(({ kind }) => !BESIDE_TAILS.has(kind)).length,
      settled: name === 'absences' ? Math.max(0, before - found.length) : 0,
      indexSkipped: name === 'absences' ? indexed.skipped : 0,
      differences: [...own, ...indexed.differences.filter((each) => each.collection === name)],
    };
  });
}

/** Replaces the versions of the differing chains with what the hub has now; returns the ids of these versions. */
async function askAgain(
  tools: VerifyTools,
  { collection, hub, signal }: VerifyChainsOptions,
  found: readonly ChainDifference[],
): Promise<ReadonlySet<string>> {
  const { versions } = hub;
  const source = hubRows(tools.parts, collection);
  let touched = linkedWith(versions, new Set(found.flatMap(({ versionIds }) => versionIds)));
  const asked = new Set<string>();
  for (let attempt = 1; attempt <= FOLLOW_AT_MOST; attempt += 1) {
    const news = [...touched].filter((id) => !asked.has(id));
    if (news.length === 0) return touched;
    if (asked.size + news.length > ASK_AT_MOST) break;
    const { rows, notFound } = await source.ask(news, signal);
    const unanswered = new Set(news);
    for (const { decoded } of rows) {
      if (decoded.kind === 'row') hub.replace(decoded);
      else hub.take({ key: null, rejectKey: '', decoded });
      if (decoded.sourcedId !== null) unanswered.delete(decoded.sourcedId);
    }
    for (const id of notFound) {
      versions.delete(id);
      unanswered.delete(id);
    }
    if (unanswered.size > 0) break;
    for (const id of news) asked.add(id);
    touched = linkedWith(versions, touched);
  }
  const scanned = new VersionsOfHub();
  const scan = await source.read((rows) => rows.forEach(scanned.take), signal);
  if (scan === null || !provesMissing(scan.scopes)) return touched;
  versions.clear();
  for (const [id, version] of scanned.versions) versions.set(id, version);
  return linkedWith(versions, touched);
}

/** Compares only the chains of the touched versions: all of them would take as long as the first comparison. */
function compareAgain(
  found: readonly ChainDifference[],
  known: {
    touched: ReadonlySet<string>;
    hub: VersionsOfHub;
    topics: ChainTopicsView;
    forgottenBeforeMs: number;
  },
): ChainDifference[] {
  const { touched, hub, topics, forgottenBeforeMs } = known;
  const before = new Set(found.flatMap(({ key, versionIds }) => [key, ...versionIds]));
  const isOurs = (id: string): boolean => before.has(id) || touched.has(id);
  const some = <T extends { versionId: string | null }>(records: ReadonlyMap<string, T>): Map<string, T> =>
    new Map([...records].filter(([key, { versionId }]) => isOurs(key) || isOurs(versionId ?? key)));
  const versions = new Map([...hub.versions].filter(([id]) => touched.has(id)));
  const differences = compareChains({
    chains: chainsOf(versions),
    versions,
    topics: { absences: some(topics.absences), changes: some(topics.changes) },
    forgottenBeforeMs,
  });
  // The others have appeared since.
  return differences.filter(
    ({ key, versionIds }) => before.has(key) || versionIds.some((id) => before.has(id)),
  );
}

interface ChainCircumstances {
  readonly rows: ReadonlyMap<string, Buffer | null> | undefined;
  readonly open: ReadonlyMap<string, Buffer | null> | undefined;
  readonly known: KnownOfCollection;
}

/** Absences that are counted as contradictory, with their versions: what was read first decided on them. */
async function oddIn({ state }: VerifyTools): Promise<ReadonlySet<string>> {
  const index = state?.collection('absence-versions');
  const odd = new Set<string>();
  if (index === undefined) return odd;
  for await (const batch of index.entries('contradictions')) for (const [key] of batch) odd.add(key);
  if (odd.size === 0) return odd;
  for await (const batch of index.entries('absences'))
    for (const [key, value] of batch)
      if (odd.has(key)) for (const { id } of decodeEntry(key, value).members) odd.add(id);
  return odd;
}

async function circumstancesOf(
  tools: VerifyTools,
  touched: ReadonlySet<string>,
  options: VerifyChainsOptions,
): Promise<ChainCircumstances> {
  const keys = [...touched];
  const name = 'absence-versions';
  const rows = await lookUpIndex(tools, name, { area: 'rows', keys });
  const open = await lookUpIndex(tools, name, { area: 'open', keys });
  const known = await readKnown(tools, name, options.signal);
  return {
    rows,
    open,
    known: { ...known, withheld: new Set([...known.withheld, ...options.withheld]) },
  };
}

/** The next sync publishes chains whose versions differ between index and hub, and pending chains. */
function stateOfChain(
  { kind, versionIds }: ChainDifference,
  versions: ReadonlyMap<string, HubVersion>,
  { rows, open, known }: ChainCircumstances,
): DifferenceState {
  if (kind === 'undecodable' || kind === 'gap' || kind === 'two-students') return 'wrong';
  if (kind !== 'missing' && versionIds.some((id) => known.withheld.has(id))) return 'withheld';
  const isMissing = (id: string): boolean => !versions.has(id);
  if (known.isListLost && kind === 'left-over' && versionIds.every(isMissing)) return 'withheld';
  const watermarkMs = known.progress?.watermarkMs ?? null;
  if (rows === undefined) {
    const isRecent = versionIds.some((id) => {
      const modifiedAtMs = versions.get(id)?.modifiedAtMs ?? null;
      return isMissing(id) || watermarkMs === null || (modifiedAtMs !== null && modifiedAtMs >= watermarkMs);
    });
    return isRecent ? 'pending' : 'wrong';
  }
  const isPending = versionIds.some((id) => {
    const indexed = rows.get(id)?.toString('latin1') ?? null;
    const isOpen = (open?.get(id) ?? null) !== null;
    return isOpen || indexed !== (versions.get(id)?.hash ?? null);
  });
  return isPending ? 'pending' : 'wrong';
}

const UNREADABLE_ENTRY = 'unreadable';
const UNREADABLE_RECORD = 'unreadable record';

async function verifyIndexed(
  tools: VerifyTools,
  options: {
    topics: ChainTopicsView;
    readOn: () => Promise<void>;
    signal: AbortSignal;
    known: readonly Difference[];
  },
): Promise<{ differences: Difference[]; skipped: number }> {
  const { topics, readOn, signal, known } = options;
  const areas: Record<ChainCollection, IndexedArea> = {
    absences: {
      area: 'absences',
      records: topics.absences,
      inTopic: (key) => {
        const record = topics.absences.get(key);
        return record === undefined ? null : (record.versionId ?? UNREADABLE_RECORD);
      },
      inIndex: (key, value) =>
        readOrNull(() => {
          const entry = decodeEntry(key, value);
          return isShown(entry) ? (entry.published?.versionId ?? null) : null;
        }),
    },
    'absence-changes': {
      area: 'absences',
      records: topics.changes,
      inTopic: (key) => topics.changes.get(key)?.step.toString() ?? null,
      inIndex: (key, value) =>
        readOrNull(() => {
          const step = decodeEntry(key, value).published?.step ?? 0;
          return step === 0 ? null : String(step);
        }),
    },
  };
  const differences: Difference[] = [];
  let skipped = 0;
  for (const name of CHAIN_COLLECTIONS) {
    const found = await verifyIndex(tools, {
      collection: 'absence-versions',
      areas: [areas[name]],
      readOn,
      signal,
    });
    skipped += found.skipped;
    differences.push(
      ...indexDifferences(
        name,
        found.keys,
        known.filter(({ collection }) => collection === name),
      ),
    );
  }
  return { differences, skipped };
}

/** An unreadable entry counts as one that differs from the topic. */
function readOrNull(read: () => string | null): string | null {
  try {
    return read();
  } catch {
    return UNREADABLE_ENTRY;
  }
}
