import { z } from 'zod';
import { COLLECTIONS, collectionNamed, type CollectionName } from '../model/collections.ts';
import { collectionOf, type WhichStudents, schedules } from './schedules.ts';
import { address, duration, flag, text, timeZone, tokenClient, wholeNumber } from './fields.ts';

const collectionName = z.enum(COLLECTIONS);

const fullSync = z
  .strictObject({
    at: z
      .string({ error: 'must be text: "04:00", in quotes' })
      .regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: 'is not a time of day: "HH:MM" in 24 hours is expected' })
      .prefault('04:00')
      .describe('Time of the daily full sync, HH:MM. A missed one runs at the next start.'),
    timeZone: timeZone().prefault('Europe/Oslo').describe('IANA time zone of `at`.'),
  })
  .describe('When the daily full sync is due.');

const fieldNames = z.array(text(200)).max(200).prefault([]);

const collectionSettingsSchema = z
  .strictObject({
    enabled: flag()
      .optional()
      .describe(
        'Whether the collection is mirrored. These collections are off unless you switch them on: `class-students`; `afterschool-users`, while `afterschools` is empty; and `schedules`, while the collection from which it takes its students is off (`absences` or `students`, see `schedules.students`).',
      ),
    incrementalEvery: duration({ min: '1ms', max: '1d' })
      .optional()
      .describe("Replaces the tenant's incrementalEvery for this collection."),
    fullSync: fullSync
      .optional()
      .describe(
        "Replaces the tenant's whole `fullSync` for this collection: a key that you leave out (`at`, `timeZone`) has its default, not the tenant's value.",
      ),
    drop: fieldNames.describe(
      'Top-level fields that are never published, even if they are in `pseudonymise`, too.',
    ),
    pseudonymise: fieldNames.describe('Top-level fields whose values are replaced by a keyed hash.'),
    ignore: fieldNames.describe(
      'Top-level fields. If only these fields of a row change, nothing is published.',
    ),
  })
  .describe('Settings of a collection.');

const hub = z
  .strictObject({
    baseUrl: address('https:', 'http:').describe('Address of the hub, with the tenant in its path.'),
    ...tokenClient,
    pageSize: wholeNumber({ min: 1, max: 10_000 }).prefault(1000).describe('Rows to request per page.'),
    paging: z
      .enum(['auto', 'keyset', 'offset'])
      .prefault('auto')
      .describe(
        'How pages are requested: after the last id of the page before (`keyset`), or by the number of rows to skip (`offset`). `auto` tries keyset first, and then offset.',
      ),
    totals: z
      .enum(['compared', 'ignored'])
      .prefault('compared')
      .describe(
        'Whether the number of returned rows is compared with the total that the hub reports. `compared`: a list with fewer rows is incomplete, so nothing is removed. Use `ignored` only if the total includes rows that the hub never returns. Be careful: with `ignored`, a row that a scan skips by mistake is removed.',
      ),
    maxConcurrentRequests: wholeNumber({ min: 1, max: 32 })
      .prefault(4)
      .describe(
        'How many requests to this hub may be under way at once. If hubs of several tenants of a process have the same host, at most 32 requests to this host are under way.',
      ),
    requestTimeout: duration({ min: '1ms', max: '1h' })
      .prefault('60s')
      .describe('Time limit of a request, until the answer is complete.'),
    maxResponseBytes: wholeNumber({ min: 1024, max: 1024 ** 3 })
      .prefault(64 * 1024 ** 2)
      .describe('Size of the largest accepted answer, after decompression.'),
  })
  .describe('The Education Data Hub.')
  .transform(({ requestTimeout, ...rest }) => ({ ...rest, requestTimeoutMs: requestTimeout }));

/** One tenant: its hub, its collections, and the times of their syncs. */
export const tenant = z
  .strictObject({
    id: z
      .string({ error: 'must be text (put a number in quotes)' })
      .regex(/^[a-z0-9-]{1,40}$/, { error: 'must be 1 to 40 characters, each of them a-z, 0-9 or -' })
      .describe('Name of the tenant. It is part of the names of its topics.'),
    hub,
    collections: z
      .union(
        [
          z.literal('all').transform(() => ({})),
          z.array(collectionName).transform(onlyThese),
          z.partialRecord(collectionName, collectionSettingsSchema),
        ],
        { error: 'must be all, a list of collections, or a map of settings by collection' },
      )
      .prefault('all')
      .describe(
        'The collections to mirror: `all`, a list of names, or a map with settings for some collections. With a map, the collections that it does not name are mirrored, too. Only a list, or `enabled: true` in a map, switches on a collection that is off by default (see `enabled`).',
      ),
    fullSync: fullSync.prefault({}),
    incrementalEvery: duration({ min: '1ms', max: '1d' })
      .prefault('60s')
      .describe('Pause between two incremental syncs.'),
    incrementalOverlap: duration({ min: '0s', max: '1d' })
      .prefault('5m')
      .describe(
        'How far before the beginning of a sync its watermark is. The next incremental sync reads the rows that were modified after this watermark.',
      ),
    afterschools: z
      .array(text())
      .max(10_000)
      .prefault([])
      .describe('Ids of the afterschools whose users are mirrored.'),
    schedules,
    absences: z
      .strictObject({
        forgetAfter: duration({ min: '1d', max: '3650d' })
          .prefault('30d')
          .describe(
            'How long after the deletion of an absence Rollcall forgets the absence, and publishes a null for its key in absence-changes.',
          ),
      })
      .prefault({})
      .transform(({ forgetAfter }) => ({ forgetAfterMs: forgetAfter }))
      .describe('Settings of absence-changes.'),
  })
  .transform(({ collections, incrementalEvery, incrementalOverlap, ...rest }) => ({
    ...rest,
    incrementalEveryMs: incrementalEvery,
    incrementalOverlapMs: incrementalOverlap,
    /** Settings of each collection, with the tenant's defaults. */
    collections: resolveCollections(collections, { ...rest, incrementalEveryMs: incrementalEvery }),
  }));

type WrittenSettings = z.output<typeof collectionSettingsSchema>;
type WrittenCollections = Readonly<Partial<Record<CollectionName, Partial<WrittenSettings>>>>;

/** A list of collections as a map, in which all others are off. */
function onlyThese(names: readonly CollectionName[]): WrittenCollections {
  return Object.fromEntries(COLLECTIONS.map((name) => [name, { enabled: names.includes(name) }]));
}

export interface CollectionSettings extends Readonly<
  Pick<WrittenSettings, 'drop' | 'pseudonymise' | 'ignore'>
> {
  /** Also false if there is nothing to read: `afterschool-users` without `afterschools`, `schedules` without students. */
  readonly enabled: boolean;
  readonly incrementalEveryMs: number;
  readonly fullSync: z.output<typeof fullSync>;
}

function resolveCollections(
  written: WrittenCollections,
  tenant: {
    incrementalEveryMs: number;
    fullSync: z.output<typeof fullSync>;
    afterschools: readonly string[];
    schedules: { readonly students: WhichStudents };
  },
): Readonly<Record<CollectionName, CollectionSettings>> {
  const entries = COLLECTIONS.map((name): [CollectionName, CollectionSettings] => {
    const own = written[name] ?? {};
    const isWanted = own.enabled ?? collectionNamed(name).byDefault;
    const settings: CollectionSettings = {
      enabled: isWanted && (name !== 'afterschool-users' || tenant.afterschools.length > 0),
      incrementalEveryMs: own.incrementalEvery ?? tenant.incrementalEveryMs,
      fullSync: own.fullSync ?? tenant.fullSync,
      drop: own.drop ?? [],
      pseudonymise: own.pseudonymise ?? [],
      ignore: own.ignore ?? [],
    };
    return [name, settings];
  });
  const resolved = Object.fromEntries(entries) as Record<CollectionName, CollectionSettings>;
  const studentSource = collectionOf(tenant.schedules.students);
  const hasStudents = studentSource === null || resolved[studentSource].enabled;
  if (hasStudents) return resolved;
  return { ...resolved, schedules: { ...resolved.schedules, enabled: false } };
}
