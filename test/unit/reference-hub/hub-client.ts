import type { ReferenceHubOptions } from '../../../reference-hub/start-reference-hub.ts';
import { startReferenceHub } from '../../../reference-hub/start-reference-hub.ts';

export const ROSTERING = '/ims/oneroster/rostering/v1p2';
export const ABSENCES = '/ims/oneroster/absences/v1p0/absences/detail';
export const USERS = `${ROSTERING}/users`;
export const SCHEDULES = '/api/core/schedules';

/** It is noon on a Friday in November. */
export const NOON = Date.UTC(2026, 10, 20, 11, 0, 0);

export type Row = Record<string, unknown>;
export type Parameters = Readonly<Record<string, string | number>>;

export type Answer = Awaited<ReturnType<typeof answerOf>>;

/** A hub for one test, and the plainest possible client. */
export async function startTestHub(options: ReferenceHubOptions = {}) {
  const hub = await startReferenceHub({ students: 60, seed: 7, startMs: NOON, ...options });
  let token = '';
  const newToken = async (): Promise<void> => {
    const { clientId, clientSecret } = hub;
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
    const response = await fetch(hub.tokenUrl, { method: 'POST', body: new URLSearchParams(form) });
    token = String(((await response.json()) as Row)['access_token']);
  };
  await newToken();
  const getUrl = async (url: string) =>
    answerOf(await fetch(url, { headers: { authorization: `Bearer ${token}` } }));
  const get = (path: string, parameters: Parameters = {}) =>
    getUrl(`${hub.baseUrl}${path}?${new URLSearchParams(parameters as Record<string, string>).toString()}`);
  return { hub, newToken, getUrl, get, [Symbol.asyncDispose]: () => hub.stop() };
}

/** The ids of a page and of those to which rel="next" leads until it is absent (spec 4.3 rule 8). */
export async function scan(
  test: Pick<Awaited<ReturnType<typeof startTestHub>>, 'getUrl'>,
  first: Answer,
): Promise<string[]> {
  const { next } = first.links;
  return next === undefined ? [...first.ids] : [...first.ids, ...(await scan(test, await test.getUrl(next)))];
}

/** Headers are null where they are missing; `rows`: of the only list in the body, or of the body. */
async function answerOf(response: Response) {
  const text = await response.text();
  const { headers, status } = response;
  const body = parsed(text);
  const list = Array.isArray(body) ? body : Object.values(body ?? {}).find((value) => Array.isArray(value));
  const rows: readonly Row[] = list ?? [];
  const link = headers.get('link');
  const links = (link ?? '').matchAll(/<([^>]*)>; rel="(\w+)"/g);
  return {
    status,
    text,
    rows,
    ids: rows.map((row: Row | null) => String(row?.['sourcedId'])),
    /** By relation. */
    links: Object.fromEntries(Array.from(links, ([, url = '', relation = '']) => [relation, url])),
    link,
    total: headers.get('x-total-count'),
    date: headers.get('date'),
  };
}

/** Null if it is no JSON. */
function parsed(text: string): Row | Row[] | null {
  try {
    return JSON.parse(text) as Row | Row[];
  } catch {
    return null;
  }
}
