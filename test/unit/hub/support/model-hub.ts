import { sendJson, type Script } from './scripted-hub.ts';

/** How a hub behaves; each of these was seen at a real hub. */
export interface Behaviour {
  readonly ids: readonly string[];
  readonly envelope?: string;
  /** How the hub treats `afterSourcedId`. */
  readonly cursor: 'honours' | 'ignores' | 'refuses';
  /** How the hub treats a filter on `sourcedId`. */
  readonly idFilter: 'honours' | 'ignores' | 'refuses' | 'ignores-sort';
  readonly sort?: 'honours' | 'refuses';
  readonly clamp?: number;
  readonly links: 'right' | 'none' | 'foreign' | 'past-the-end' | 'by-offset' | 'first-only' | 'unrelated';
  readonly total: 'right' | 'zero' | 'unfiltered' | 'remaining' | 'page' | 'none';
  /** The order without `sort` (hubs with a working cursor always sort by id). */
  readonly natural?: readonly string[];
}

function afterIn(filter: string | null): string | null {
  const found = /sourcedId>'((?:[^']|'')*)'/.exec(filter ?? '');
  return found?.[1]?.replaceAll("''", "'") ?? null;
}

function linkHeader(
  behaviour: Behaviour,
  context: { url: URL; offset: number; limit: number; last: string | null; more: boolean },
) {
  const { url, offset, limit, last, more } = context;
  const link = (change: (target: URL) => void, rel: string): string => {
    const target = new URL(url);
    change(target);
    return `<${target.href}>; rel="${rel}"`;
  };
  const first = link((target) => target.searchParams.delete('afterSourcedId'), 'first');
  const byCursor = (target: URL): void => target.searchParams.set('afterSourcedId', last ?? 'none');
  const byOffset = (target: URL): void => target.searchParams.set('offset', String(offset + limit));
  switch (behaviour.links) {
    case 'none':
      return null;
    case 'first-only':
      return behaviour.cursor === 'honours' && more ? `${first}, ${link(byCursor, 'next')}` : first;
    case 'unrelated':
      return `<${url.origin}/schema>; rel="describedby"`;
    case 'foreign':
      return more ? `${first}, <https://elsewhere.example/next?page=2>; rel="next"` : first;
    case 'by-offset':
      return more ? `${first}, ${link(byOffset, 'next')}` : first;
    case 'past-the-end':
      return `${first}, ${link(last === null ? byOffset : byCursor, 'next')}`;
    case 'right':
      return more ? `${first}, ${link(url.searchParams.has('offset') ? byOffset : byCursor, 'next')}` : first;
  }
}

/** Makes a hub that holds `ids` and follows the behaviour; its parameters are those of spec 4.2. */
export function modelHub(behaviour: Behaviour): Script {
  const { ids, envelope = 'users', natural } = behaviour;
  const byId = [...ids].sort((a, b) => (a < b ? -1 : 1));
  return ({ query, url }, response) => {
    const cursor = query.get('afterSourcedId');
    const after = afterIn(query.get('filter'));
    const refused =
      (cursor !== null && behaviour.cursor === 'refuses') ||
      (after !== null && behaviour.idFilter === 'refuses') ||
      (query.has('sort') && behaviour.sort === 'refuses');
    if (refused) {
      sendJson(response, { imsx_codeMajor: 'failure', imsx_severity: 'error' }, { status: 400 });
      return;
    }
    const limit = Math.min(Number(query.get('limit') ?? 100), behaviour.clamp ?? Number.MAX_SAFE_INTEGER);
    const sorted = query.has('sort') && behaviour.idFilter !== 'ignores-sort';
    const keyset = cursor !== null && behaviour.cursor === 'honours';
    const filterWorks = behaviour.idFilter === 'honours' || behaviour.idFilter === 'ignores-sort';
    const ordered = behaviour.cursor === 'honours' || sorted || natural === undefined ? byId : natural;
    const matching = ordered.filter((id) => !filterWorks || after === null || id > after);
    const rest = keyset ? matching.filter((id) => id > cursor) : matching;
    const offset = keyset ? 0 : Number(query.get('offset') ?? 0);
    const page = rest.slice(offset, offset + limit);
    const more = offset + limit < rest.length;
    const link = linkHeader(behaviour, { url, offset, limit, last: page.at(-1) ?? null, more });
    const totals = {
      right: matching.length,
      zero: 0,
      unfiltered: ids.length,
      remaining: rest.length - offset,
      page: page.length,
      none: null,
    };
    const total = totals[behaviour.total];
    sendJson(
      response,
      { [envelope]: page.map((sourcedId) => ({ sourcedId })) },
      {
        headers: {
          ...(link === null ? {} : { link }),
          ...(total === null ? {} : { 'x-total-count': String(total) }),
        },
      },
    );
  };
}
