import { isShown } from '../../../src/core/absences/absence-entry.ts';
import { absentEntryOf, decodeAbsent } from '../../../src/core/absences/current-absence.ts';
import type { AbsenceVersionValue } from '../../../src/core/absences/absence-version.ts';
import { decodeEntry, decodePointer } from '../../../src/core/absences/entry-codec.ts';
import { areasOf, type IndexArea } from '../../../src/state/index-store.ts';
import { firstLoadEnd, loggedChanges } from '../../oracle/absences.ts';
import { unequal, type Evidence } from '../../oracle/progress.ts';
import { compactedView } from '../../oracle/rows.ts';
import { decodeBody } from '../tenants/evidence.ts';
import type { TenantRedis } from '../tenants/tenant-redis.ts';
import { studentBehind } from './mappings.ts';
import type { MirroredAbsences } from './mirrored-absences.ts';

const VERSIONS = 'absence-versions';
const AREAS = areasOf(VERSIONS);
const DAY_MS = 24 * 3_600_000;

type Contents = Record<IndexArea, Map<string, Buffer>>;

/** Invariant 1: the entries of absences at the end of the log agree with the topics, and no absence is open. */
export async function problemsOfEntries(world: MirroredAbsences, evidence: Evidence): Promise<string[]> {
  const [index, rebuilt] = [await contentsOf(world.redis), await contentsOf(world.rebuilt)];
  const hex = (values: Map<string, Buffer>) =>
    new Map([...values].map(([key, value]) => [key, value.toString('hex')]));
  return [
    ...disagreements(world, index, evidence).map((why) => `the index: ${why}`),
    ...AREAS.flatMap((area) =>
      unequal(hex(rebuilt[area]), hex(index[area])).map(
        (why) => `the rebuilt index is not the index: ${area} ${why}`,
      ),
    ),
  ];
}

async function contentsOf(redis: TenantRedis): Promise<Contents> {
  const contents = AREAS.map(async (area) => [area, await redis.contents(VERSIONS, area)] as const);
  return Object.fromEntries(await Promise.all(contents)) as Contents;
}

function disagreements(world: MirroredAbsences, contents: Contents, evidence: Evidence): string[] {
  const view = (topic: string) => [...compactedView(evidence.get(topic) ?? [])];
  const entries = [...contents.absences].map(([key, bytes]) => [key, decodeEntry(key, bytes)] as const);
  const changes = view('absence-changes').flatMap(([key, record]) =>
    loggedChanges([record]).map((change) => ({ key, change, detectedAt: record.value?.['detectedAt'] })),
  );
  const rejects = new Set(view('rejects').map(([key]) => key));
  const derivedUpTo = firstLoadEnd(evidence.get('progress') ?? [])?.transaction ?? -1;
  const present = new Set(
    entries.flatMap(([, { members }]) =>
      members.flatMap(({ id, state }) => (state === 'present' ? [id] : [])),
    ),
  );
  const sinceMs = world.absentSinceMs() ?? Infinity;
  type Pairs = readonly (readonly [string, string])[];
  const areas: Record<string, [found: Pairs, said: Pairs]> = {
    'absence-changes': [
      entries.flatMap(([key, { published }]) =>
        published === null || published.step === 0
          ? []
          : [[key, `${published.step} ${published.versionId} ${published.isDeleted}`]],
      ),
      changes.map(({ key, change: { step, versionId, operation } }) => [
        key,
        `${step} ${versionId} ${operation === 'DELETED'}`,
      ]),
    ],
    absences: [
      entries.flatMap(([key, entry]) => (isShown(entry) ? [[key, entry.published?.versionId ?? '']] : [])),
      view('absences').map(([key, { value }]) => [key, String(value?.['sourcedId'])]),
    ],
    ended: [
      [...contents.ended].map(([key, day]) => [key, String(day.readInt32BE())]),
      changes
        .filter(({ change }) => change.operation === 'DELETED')
        .map(({ key, detectedAt }) => [key, String(Math.floor(Number(detectedAt) / DAY_MS))]),
    ],
    forgotten: [
      [...contents.forgotten.keys()].map((key) => [key, 'forgotten']),
      entries.flatMap(([key, { published }]) => (published?.step === 0 ? [[key, 'forgotten']] : [])),
    ],
    absent: [
      [...contents.absent].flatMap(([key, bytes]) => absentText(key, decodeAbsent(bytes), sinceMs)),
      absencesPublished(world).flatMap(([key, value]) => {
        const entry = absentEntryOf(value);
        return entry === null || entry.toMs < sinceMs ? [] : absentText(key, entry, 0);
      }),
    ],
    'versions at the hub': [
      [...present].map((id) => [id, 'present']),
      // What became unreadable before absences were switched on keeps its record; what the full sync missed that derived them
      // first joins its absence with its next change.
      view(VERSIONS).flatMap(([key, { transaction = 0 }]) =>
        (rejects.has(`${VERSIONS}|${key}`) || transaction <= derivedUpTo) && !present.has(key)
          ? []
          : [[key, 'present']],
      ),
    ],
    pointers: [
      [...contents.pointers].map(([key, bytes]) => [key, decodePointer(bytes)]),
      entries.flatMap(([key, { members }]) =>
        members.flatMap(({ id }) => (id === key ? [] : [[id, key] as const])),
      ),
    ],
    open: [[...contents.open.keys()].map((key) => [key, 'open']), []],
    bodies: [[...contents.bodies.keys()].map((key) => [key, 'a record is kept']), []],
    'of another chain': [
      entries.flatMap(([key, { members }]) => {
        const chain = world.hub.chainOf(key);
        const isStrange = (id: string): boolean => chain?.versions.includes(id) !== true;
        return chain === undefined || chain.isTainted
          ? []
          : members.filter(({ id }) => isStrange(id)).map(({ id }) => [id, key] as const);
      }),
      [],
    ],
  };
  return Object.entries(areas).flatMap(([area, [found, said]]) =>
    unequal(new Map(found), new Map(said)).map((why) => `${area} ${why}`),
  );
}

/** What an earlier mapping masked and no row has brought again may be missing: a pseudonym is nobody's own id. */
function absentText(
  key: string,
  entry: ReturnType<typeof decodeAbsent>,
  sinceMs: number,
): (readonly [string, string])[] {
  const isPseudonym = studentBehind(entry.studentId) !== entry.studentId;
  return sinceMs < Infinity && isPseudonym ? [] : [[key, JSON.stringify(entry)]];
}

function absencesPublished({ broker }: MirroredAbsences): [string, AbsenceVersionValue][] {
  return [...broker.viewOf('absences')].flatMap(([key, { body }]) =>
    body === null ? [] : [[key, decodeBody('absences', body) as unknown as AbsenceVersionValue]],
  );
}
