import { Agent, request } from 'undici';

export interface Named {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

export interface Answer {
  readonly status: number;
  /** Empty when it is no JSON. */
  readonly body: object;
  /** The API server's warnings: of unknown fields, old versions, and what Pod Security would refuse. */
  readonly warnings: readonly string[];
}

export interface Api extends AsyncDisposable {
  send(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer>;
  /** As `send`, for the body alone. Throws unless the answer is 2xx. */
  must<T extends object>(method: 'GET' | 'POST', path: string, body?: object): Promise<T>;
}

/** A client of an API server of this machine, of any certificate. */
export function createApi(url: string, token: string): Api {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  const send: Api['send'] = async (method, path, body) => {
    const answer = await request(`${url}${path}`, {
      method,
      dispatcher,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    const warnings = [answer.headers.warning ?? []].flat();
    return { status: answer.statusCode, body: parsed(text), warnings };
  };
  const must: Api['must'] = async <T extends object>(
    method: 'GET' | 'POST',
    path: string,
    body?: object,
  ): Promise<T> => {
    const answer = await send(method, path, body);
    if (answer.status < 300) return answer.body as T;
    throw new Error(`${method} ${path} was answered with ${answer.status}: ${messageOf(answer)}`);
  };
  return { send, must, [Symbol.asyncDispose]: () => dispatcher.close() };
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

const PLURALS: Readonly<Record<string, string>> = {
  NetworkPolicy: 'networkpolicies',
  Ingress: 'ingresses',
};

/** The path of a kind's objects in a namespace. */
export function pathOf({ apiVersion, kind }: Pick<Named, 'apiVersion' | 'kind'>, namespace: string): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${root}/namespaces/${namespace}/${PLURALS[kind] ?? `${kind.toLowerCase()}s`}`;
}
