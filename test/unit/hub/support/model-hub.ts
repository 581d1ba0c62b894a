import { sendJson, type Script } from './scripted-hub.ts';

/** How a hub behaves; each of these was seen at a real hub, but `hidden`. */
export interface Behaviour {
  readonly ids: readonly string[];
  /** How the hub treats `afterSourcedId`. */
  readonly cursor: 'honours' | 'ignores' | 'refuses';
  readonly sort?: 'honours' | 'refuses';
  readonly clamp?: number;
  /** A page has so many rows at least, whatever the limit. */
  readonly least?: number;
  readonly links: 'right' | 'none' | 'foreign' | 'past-the-end' | 'by-offset' | 'first-only' | 'unrelated';
  readonly total: 'right' | 'zero' | 'remaining' | 'page' | 'none';
  /** Rows that are left out after paging, as by rights, so that a page may have none. */
  readonly hidden?: string;
  /** The order without `sort` (hubs with a working cursor always sort by id). */
  readonly natural?: readonly string[];
}

/** `last`: the id of the last row of the page, after which there may be more. */
function linkHeader(
  { links, cursor }: Behaviour,
  { url, nextOffset, last, more }: { url: URL; nextOffset: number; last: string | undefined; more: boolean },
): string | null {
  const link = (rel: string, name: string, value?: string | number): string => {
    const target = new URL(url);
    target.searchParams.delete(name);
    if (value !== undefined) target.searchParams.set(name, String(value));
    return `<${target.href}>; rel="${rel}"`;
  };
  const first = link('first', 'afterSourcedId');
  const byCursor = link('next', 'afterSourcedId', last);
  const byOffset = link('next', 'offset', nextOffset);
  const headers = {
    none: null,
    'first-only': cursor === 'honours' && more ? `${first}, ${byCursor}` : first,
    unrelated: `<${url.origin}/schema>; rel="describedby"`,
    foreign: more ? `${first}, <https://elsewhere.example/next?page=2>; rel="next"` : first,
    'by-offset': more ? `${first}, ${byOffset}` : first,
    'past-the-end': last === undefined ? first : `${first}, ${byCursor}`,
    right: more ? `${first}, ${url.searchParams.has('offset') ? byOffset : byCursor}` : first,
  };
  return headers[links];
}

/** As the spec has it. */
const STANDARD = { cursor: 'honours', links: 'right', total: 'right' } as const;

/** Makes a hub that holds `ids` and differs so from the standard; its parameters are those of spec 4.2. */
export function modelHub(differs: Pick<Behaviour, 'ids'> & Partial<Behaviour>): Script {
  const behaviour: Behaviour = { ...STANDARD, ...differs };
  const { ids, natural, clamp = Infinity, least = 0 } = behaviour;
  const byId = [...ids].sort((a, b) => (a < b ? -1 : 1));
  return ({ query, url }, response) => {
    const cursor = query.get('afterSourcedId');
    const refused =
      (cursor !== null && behaviour.cursor === 'refuses') ||
      (query.has('sort') && behaviour.sort === 'refuses');
    if (refused) {
      sendJson(response, { imsx_codeMajor: 'failure', imsx_severity: 'error' }, { status: 400 });
      return;
    }
    const limit = Math.max(Math.min(Number(query.get('limit') ?? 100), clamp), least);
    const keyset = cursor !== null && behaviour.cursor === 'honours';
    const isById = behaviour.cursor === 'honours' || query.has('sort') || natural === undefined;
    const ordered = isById ? byId : natural;
    const rest = keyset ? ordered.filter((id) => id > cursor) : ordered;
    const offset = keyset ? 0 : Number(query.get('offset') ?? 0);
    const page = rest.slice(offset, offset + limit);
    const more = offset + limit < rest.length;
    const link = linkHeader(behaviour, { url, nextOffset: offset + limit, last: page.at(-1), more });
    const totals = {
      right: ids.length,
      zero: 0,
      remaining: rest.length - offset,
      page: page.length,
      none: null,
    };
    const total = totals[behaviour.total];
    const counted = total === null ? {} : { 'x-total-count': String(total) };
    const headers = { ...(link === null ? {} : { link }), ...counted };
    const shown = page.filter((id) => behaviour.hidden?.includes(id) !== true);
    sendJson(response, { users: shown.map((sourcedId) => ({ sourcedId })) }, { headers });
  };
}
