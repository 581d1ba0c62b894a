import type { ReferenceHub, ReferenceHubOptions } from '../../../reference-hub/start-reference-hub.ts';
import { startReferenceHub } from '../../../reference-hub/start-reference-hub.ts';

export const ROSTERING = '/ims/oneroster/rostering/v1p2';
export const GRADEBOOK = '/ims/oneroster/gradebook/v1p2';
export const ABSENCES = '/ims/oneroster/absences/v1p0/absences/detail';

/** It is noon on a Friday in November. */
export const NOON = Date.UTC(2026, 10, 20, 11, 0, 0);

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly links: Record<string, string>;
  /** The parsed body; undefined if it is no JSON. */
  readonly body: Record<string, unknown> | undefined;
  /** The ids of the rows of the only list in the body. */
  readonly ids: string[];
  readonly rows: Record<string, unknown>[];
}

/** A hub for one test, and the plainest possible client. */
export interface TestHub extends AsyncDisposable {
  readonly hub: ReferenceHub;
  get(path: string, parameters?: Record<string, string | number>): Promise<Answer>;
  getUrl(url: string): Promise<Answer>;
  newToken(): Promise<void>;
  control(path: string, body?: object): Promise<Answer>;
}

export async function startTestHub(options: ReferenceHubOptions = {}): Promise<TestHub> {
  const hub = await startReferenceHub({ students: 60, seed: 7, startMs: NOON, ...options });
  let token = '';
  const newToken = async (): Promise<void> => {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: hub.clientId,
      client_secret: hub.clientSecret,
    });
    const response = await fetch(hub.tokenUrl, { method: 'POST', body: form });
    token = String(((await response.json()) as Record<string, unknown>)['access_token']);
  };
  await newToken();
  const getUrl = async (url: string): Promise<Answer> =>
    answerOf(await fetch(url, { headers: { authorization: `Bearer ${token}` } }));
  return {
    hub,
    newToken,
    getUrl,
    get: (path, parameters = {}) => {
      const query = new URLSearchParams(
        Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]),
      );
      return getUrl(`${hub.baseUrl}${path}?${query.toString()}`);
    },
    control: async (path, body) =>
      answerOf(
        await fetch(
          `${hub.controlUrl}/${path}`,
          body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) },
        ),
      ),
    [Symbol.asyncDispose]: () => hub.stop(),
  };
}

/** Follows rel="next" until it is absent (spec 4.3 rule 8). */
export async function scan(test: TestHub, first: Answer): Promise<string[]> {
  const ids = [...first.ids];
  for (let next = first.links['next']; next !== undefined;) {
    const page = await test.getUrl(next);
    ids.push(...page.ids);
    next = page.links['next'];
  }
  return ids;
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const body = parsed(text);
  const list = body === undefined ? undefined : Object.values(body).find((value) => Array.isArray(value));
  const rows = (list ?? (Array.isArray(body) ? body : [])) as Record<string, unknown>[];
  const links = Object.fromEntries(
    [...(response.headers.get('link') ?? '').matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, url, relation]) => [
      relation ?? '',
      url ?? '',
    ]),
  );
  return {
    status: response.status,
    headers: response.headers,
    text,
    links,
    body,
    rows,
    ids: rows.map((row: Record<string, unknown> | null) => String(row?.['sourcedId'])),
  };
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
