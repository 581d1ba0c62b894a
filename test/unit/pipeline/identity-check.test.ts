import { expect, it } from 'vitest';
import { HubError } from '../../../src/hub/hub-error.ts';
import type { ErrorCode } from '../../../src/errors.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import { runSync } from '../../../src/sync/run-sync.ts';
import { overlapsEnough, showsOwnRows } from '../../../src/sync/tenant-identity.ts';
import type { MirroredCollection } from '../../../src/sync/sync.ts';
import { MadeHub } from './support/made-hub.ts';

interface Given {
  readonly rows?: number;
  /** Shows so many of the rows that it is asked for. */
  readonly find?: () => Promise<number>;
  readonly firstRow?: 'published' | 'unknown';
  /** What happens when it is asked for the list. */
  readonly list?: () => Promise<unknown>;
}

const { signal } = new AbortController();

/** Collections of one session, by name, after the first load of all. */
async function sessionOf(given: Readonly<Partial<Record<CollectionName, Given>>>) {
  const all = new Map<CollectionName, MirroredCollection>();
  const loaded: (() => void)[] = [];
  for (const [key, each] of Object.entries<Given>(given)) {
    const { rows = 100, find = found(0), firstRow = 'unknown', list } = each;
    const name = key as CollectionName;
    const hub = new MadeHub(100, name);
    for (let at = 0; at < rows; at += 1) hub.put(`row-${at}`, 1);
    const own = await hub.session({ all });
    await runSync(own, 'FULL', { signal });
    all.set(name, own);
    loaded.push(() => {
      hub.find = async () => [...hub.rows.values()].slice(0, await find());
      if (firstRow === 'unknown') hub.rows = new Map();
      if (list !== undefined) hub.list = list;
      hub.put('new', 1);
    });
  }
  for (const change of loaded) change();
  return [...all.values()] as [MirroredCollection, MirroredCollection];
}

const found = (rows: number) => () => Promise.resolve(rows);
const failing = (code: ErrorCode) => () =>
  Promise.reject(new HubError(code, 'No answer', { remedy: 'Look.' }));

const REFUSALS = [
  'HUB_REQUEST_REFUSED',
  'HUB_NOT_OFFERED',
  'HUB_FORBIDDEN',
  'HUB_BODY_INVALID',
  'HUB_RESPONSE_TOO_LARGE',
  'HUB_PAGE_TOO_LONG',
] as const;
const small = { rows: 4 };

type IdentityCase = ['accepted' | 'refused', hub: string, Parameters<typeof sessionOf>[0]];

it.each<IdentityCase>([
  ['accepted', 'shows one of three published rows', { users: { find: found(1) } }],
  ['refused', 'shows none of three published rows', { users: {} }],
  ...REFUSALS.flatMap((code): IdentityCase[] => {
    const find = failing(code);
    const why = `answers ${code}, and lists`;
    return [
      ['accepted', `${why} a published row first`, { users: { find, firstRow: 'published' } }],
      ['refused', `${why} an unknown row first`, { users: { find } }],
    ];
  }),
  ['accepted', 'shows rows of another collection', { orgs: small, users: { rows: 5, find: found(1) } }],
  ['refused', 'shows no rows of another collection', { orgs: small, users: { rows: 5 } }],
  ['accepted', 'has too few rows in each collection', { orgs: small, users: small }],
])('unknown rows are %s if the hub %s', async (outcome, _hub, given) => {
  expect(await showsOwnRows((await sessionOf(given))[0], signal)).toBe(outcome === 'accepted');
});

it('unknown classes count as this tenant’s if the hub shows its people, but not if only its courses', async () => {
  const shown = { find: found(1) };
  for (const [is, others] of [
    [true, { users: shown }],
    [false, { courses: shown }],
  ] as const) {
    const [, classes] = await sessionOf({ ...others, classes: {} });
    expect(await showsOwnRows(classes, signal)).toBe(is);
  }
});

/** A collection that the hub refuses: no question and no list of it is answered. */
const refusing = (code: ErrorCode) => ({ find: failing(code), list: failing(code) });

it.each(['HUB_FORBIDDEN', 'HUB_NOT_OFFERED'] as const)(
  'people whom the hub refuses (%s) prove nothing, so that another collection is asked for',
  async (code) => {
    const first: Parameters<typeof sessionOf>[0] = { courses: small, students: refusing(code) };
    const shown = { find: found(1) };
    for (const [is, others] of [
      [true, { teachers: shown }],
      [true, { orgs: shown }],
      [false, { orgs: {} }],
      [false, { teachers: {}, orgs: shown }],
      [false, {}],
    ] as const)
      expect(await showsOwnRows((await sessionOf({ ...first, ...others }))[0], signal)).toBe(is);
    const [classes] = await sessionOf({ classes: {}, students: refusing(code) });
    await expect(runSync(classes, 'FULL', { signal })).rejects.toMatchObject({
      code: 'HUB_FOREIGN_DATA',
      message: expect.stringContaining("may be another tenant's: almost none") as string,
    });
  },
);

it('a page with hardly any known row is not taken for this tenant’s until the hub proves it', async () => {
  const [away] = await sessionOf({ users: { find: failing('HUB_UNAVAILABLE') } });
  await expect(showsOwnRows(away, signal)).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
  const [orgs, users] = await sessionOf({ orgs: small, users: small });
  users.deletions.noteForeign(1);
  expect(await showsOwnRows(orgs, signal)).toBe(false);
});

it('a full sync that misses rows is inconclusive while another collection may be another tenant’s', async () => {
  const all = new Map<CollectionName, MirroredCollection>();
  const hubs = [new MadeHub(100, 'orgs'), new MadeHub(100, 'courses')] as const;
  const [orgs, courses] = hubs;
  for (const hub of hubs) for (let at = 0; at < 20; at += 1) hub.put(`row-${at}`, 1);
  const begin = async (): Promise<void> => {
    all.set('orgs', await orgs.session({ all })).set('courses', await courses.session({ all }));
  };
  const full = (name: CollectionName) => runSync(all.get(name) as MirroredCollection, 'FULL', { signal });
  await begin();
  for (const name of all.keys()) await full(name);
  const own = orgs.rows;
  orgs.rows = new Map();
  orgs.put('other', 1);
  await expect(full('orgs')).rejects.toMatchObject({ code: 'HUB_FOREIGN_DATA' });
  await begin();
  expect(await full('courses')).toMatchObject({ kind: 'complete' });
  courses.rows = new Map([...courses.rows].slice(1));
  const why = expect.stringContaining('(HUB_FOREIGN_DATA)') as string;
  expect(await full('courses')).toMatchObject({ kind: 'inconclusive', why, confirmAtMs: null });
  orgs.rows = own;
  await full('orgs');
  expect(await full('courses')).toMatchObject({ kind: 'complete', unconfirmed: 1 });
});

it.each([
  // rows, known among them, published rows, whether they are this tenant's
  [1_000, 0, 100, false],
  [20_000, 9, 100, false],
  [3, 0, 0, false],
  [2_000, 10, 100, true],
  // A collection that grew many times over.
  [320, 20, 20, true],
  [46, 6, 6, true],
  [0, 0, 100, true],
])(
  "%i rows of which %i are among %i published ones are this tenant's: %s",
  (rows, knownAmongThem, knownRows, own) => {
    expect(overlapsEnough({ rows, knownAmongThem, knownRows })).toBe(own);
  },
);

it("a proof of the hub holds for ten pages of new rows, so that another tenant's rows are noticed", async () => {
  const made = new MadeHub(10);
  for (let at = 0; at < 20; at += 1) made.put(`row-${at}`, 1);
  const all = new Map<'users', MirroredCollection>();
  const own = await made.session({ all });
  all.set('users', own);
  await runSync(own, 'FULL', { signal });
  // It has grown many times over; the last pages are another tenant's, which has none of the rows before.
  for (let at = 100; at < 350; at += 1) made.put(`new-${at}`, 1);
  let asked = 0;
  made.find = async (ids) => {
    asked += 1;
    if (asked > 2) made.rows = new Map([...made.rows].filter(([id]) => id > 'new-300' && id < 'row'));
    return ids.flatMap((id) => made.rows.get(id) ?? []);
  };
  await expect(runSync(own, 'FULL', { signal })).rejects.toMatchObject({ code: 'HUB_FOREIGN_DATA' });
  expect([asked, made.records.length]).toEqual([3, 220]);
});
