import { Agent, request } from 'undici';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Named {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
  };
}

export interface Answer {
  readonly status: number;
  /** Empty when it is no JSON. */
  readonly body: object;
  /** The API server's warnings: of unknown fields, old versions, and what Pod Security would refuse. */
  readonly warnings: readonly string[];
}

export interface Api extends AsyncDisposable {
  send(method: Method, path: string, body?: object): Promise<Answer>;
  /** As `send`, for the body alone. Throws unless the answer is 2xx. */
  must<T extends object>(method: Method, path: string, body?: object): Promise<T>;
  /** The items of a list. */
  list<T extends Named>(path: string): Promise<readonly T[]>;
}

/** A client of a Kubernetes API. Without `ca` it takes any certificate. */
export function createApi(url: string, token: string, ca: string | undefined): Api {
  const dispatcher = new Agent({ connect: ca === undefined ? { rejectUnauthorized: false } : { ca } });
  const send: Api['send'] = async (method, path, body) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const answer = await request(`${url}${path}`, {
      method,
      dispatcher,
      headers: { 'content-type': type, ...(token && { authorization: `Bearer ${token}` }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    const warnings = [answer.headers.warning ?? []].flat();
    return { status: answer.statusCode, body: parsed(text), warnings };
  };
  const must = async <T extends object>(method: Method, path: string, body?: object): Promise<T> => {
    const answer = await send(method, path, body);
    if (answer.status < 300) return answer.body as T;
    throw new Error(`${method} ${path} was answered with ${answer.status}: ${messageOf(answer)}`);
  };
  const list = async <T extends Named>(path: string): Promise<readonly T[]> => {
    const { apiVersion, kind, items } = await must<{ apiVersion: string; kind: string; items: readonly T[] }>(
      'GET',
      path,
    );
    // The items of a list carry neither.
    return items.map((item) => Object.assign(item, { apiVersion, kind: kind.replace(/List$/, '') }));
  };
  return { send, must, list, [Symbol.asyncDispose]: () => dispatcher.close() };
}

/** What the API server says about a refusal. */
export function messageOf({ body }: Answer): string {
  return 'message' in body ? String(body.message) : '';
}

function parsed(text: string): object {
  try {
    return JSON.parse(text) as object;
  } catch {
    return {};
  }
}

const PLURALS: Readonly<Record<string, string>> = { NetworkPolicy: 'networkpolicies' };

/** The path of a kind's objects in a namespace, or of one of them; without `namespace`: of a kind without one. */
export function pathOf(
  object: { apiVersion?: string; kind?: string },
  namespace?: string,
  name?: string,
): string {
  const { apiVersion = 'v1', kind = '' } = object;
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = PLURALS[kind] ?? (kind.endsWith('s') ? `${kind}es` : `${kind}s`).toLowerCase();
  return [
    root,
    ...(namespace === undefined ? [] : ['namespaces', namespace]),
    plural,
    ...(name === undefined ? [] : [name]),
  ].join('/');
}
