import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { sendJson, serve, type ScriptedServer } from '../../unit/hub/support/scripted-hub.ts';

/** A page of a list on its way from the hub to Rollcall. */
export interface AlteredPage {
  readonly collection: string;
  readonly query: URLSearchParams;
  rows: Record<string, unknown>[];
  /** `X-Total-Count`. */
  total: number;
  /** Address of the next page; null: none. */
  next: URL | null;
}

/** Serves the lists of a reference hub under an address of its own, each page as `alter` leaves it. */
export async function alteredHub(
  hub: Pick<ReferenceHub, 'baseUrl'>,
  alter: (page: AlteredPage) => void,
): Promise<ScriptedServer & { readonly baseUrl: string }> {
  const { origin, pathname } = new URL(hub.baseUrl);
  const server = await serve(async ({ url, query, authorization = '' }, response) => {
    const answer = await fetch(origin + url.pathname + url.search, { headers: { authorization } });
    const [[envelope, rows] = ['', []]] = Object.entries((await answer.json()) as { [list: string]: [] });
    const next = /<([^>]*)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
    const page: AlteredPage = {
      collection: url.pathname.split('/').at(-1) ?? '',
      query,
      rows,
      total: Number(answer.headers.get('x-total-count')),
      next: next === undefined ? null : new URL(next.replace(origin, url.origin)),
    };
    alter(page);
    const link = `<${url.href}>; rel="first"${page.next === null ? '' : `, <${page.next.href}>; rel="next"`}`;
    const headers = { link, date: answer.headers.get('date') ?? '', 'x-total-count': String(page.total) };
    sendJson(response, { [envelope]: page.rows }, { status: answer.status, headers });
  });
  return Object.assign(server, { baseUrl: server.origin + pathname });
}
