import type { Hub, HubPage, ScanEnd } from '../../../src/hub/hub.ts';
import { withOther } from '../parts/with-other.ts';
import type { SeededTenantMistake } from './seeded-mistake.ts';
import type { TenantRow } from './tenant-row.ts';

type Pages = AsyncGenerator<HubPage, ScanEnd>;

const SHOWS_BEST = { hasTwins: true, liesOften: 0 };

/* Mistakes with ids that the hub lists twice, with two contents. */
export const TWIN_MISTAKES: readonly SeededTenantMistake[] = [
  {
    name: 'of an id listed twice in a page the last row counts, with several collections',
    troubles: 'restarts',
    finds: 'differs from the hub',
    mistake: { manner: SHOWS_BEST, hub: (hub) => withPages(hub, reversed) },
  },
  {
    name: 'a row counts although an earlier page listed its id',
    troubles: 'restarts',
    finds: 'differs from the hub',
    mistake: { manner: SHOWS_BEST, hub: (hub) => withPages(hub, lastPageOfEach) },
  },
  {
    name: 'of an id listed twice now the first row counts, now the last',
    troubles: 'restarts',
    finds: 'nothing had changed',
    mistake: {
      manner: SHOWS_BEST,
      hub: (hub) => {
        let scans = 0;
        return withPages(hub, (pages) => ((scans += 1) % 2 === 0 ? pages : reversed(pages)));
      },
    },
  },
];

function withPages(hub: Hub, misread: (pages: Pages) => Pages): Hub {
  return withOther(hub, { readPages: (options) => misread(hub.readPages(options)) });
}

async function* reversed(pages: Pages): Pages {
  for (;;) {
    const step = await pages.next();
    if (step.done === true) return step.value;
    yield { ...step.value, rows: step.value.rows.toReversed() };
  }
}

/** Keeps of several pages that list an id only the rows of the last one. */
async function* lastPageOfEach(pages: Pages): Pages {
  const all: HubPage[] = [];
  for (;;) {
    const step = await pages.next();
    if (step.done !== true) {
      all.push(step.value);
      continue;
    }
    const last = new Map(all.flatMap(({ rows }, at) => rows.map((row) => [idOf(row), at] as const)));
    for (const [at, page] of all.entries())
      yield { ...page, rows: page.rows.filter((row) => last.get(idOf(row)) === at) };
    return step.value;
  }
}

function idOf(row: unknown): string {
  return (row as TenantRow).sourcedId;
}
