import type { HubPage, ScanEnd } from '../../../src/hub/hub.ts';
import { withOther } from '../parts/with-other.ts';
import { reversed, withPages } from './misused-parts.ts';
import { plantedIn } from './tenant-world.ts';
import type { TenantRow } from './tenant-row.ts';

type Pages = AsyncGenerator<HubPage, ScanEnd>;

const SHOWS_BEST = { hasTwins: true, liesOften: 0 };

/* Mistakes with ids that the hub lists twice, with two contents. */
export const TWIN_MISTAKES = plantedIn('tenant-restarts', [
  {
    name: 'of an id listed twice in a page the last row counts, with several collections',
    finds: 'differs from the hub',
    manner: SHOWS_BEST,
    hub: (hub) => withPages(hub, reversed),
  },
  {
    name: 'a row counts although an earlier page listed its id',
    finds: 'differs from the hub',
    manner: SHOWS_BEST,
    hub: (hub) => withOther(hub, { readPages: (options) => lastPageOfEach(hub.readPages(options)) }),
  },
  {
    name: 'of an id listed twice now the first row counts, now the last',
    finds: 'nothing had changed',
    manner: SHOWS_BEST,
    hub: (hub) => {
      let scans = 0;
      return withOther(hub, {
        readPages: (options) => ((scans += 1) % 2 === 0 ? hub : withPages(hub, reversed)).readPages(options),
      });
    },
  },
]);

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
