import type { SchemaRegistry as RegistryClient } from '@kafkajs/confluent-schema-registry';
import { bareMaps } from '../core/value-codec.ts';
import { SchemaRegistry, SchemaType } from './registry-library.ts';
import { LEVEL, NOT_FOUND, isReadOnly, isSuccess } from './registry-answer.ts';
import type { RegistryAnswer, RegistryHttp, RegistryRequest } from './registry-http.ts';

type Middleware = NonNullable<ConstructorParameters<typeof SchemaRegistry>[0]['middlewares']>[number];

/** An answer other than success. The library recognises a subject without a level by `status`. */
export class RefusedRequest extends Error {
  readonly status: number;
  readonly method: string;
  readonly isReadOnly: boolean;

  constructor(answer: RegistryAnswer, method: string) {
    super(`HTTP ${answer.status}`);
    this.status = answer.status;
    this.method = method;
    this.isReadOnly = isReadOnly(answer);
  }
}

/**
 * Creates the library's client and sends its requests through `http`. The library's own requests never end when an
 * answer is cut off, report a broken connection as HTTP 400, and end the process when an error's body is `null`
 * (ADR 16).
 */
export function createRegistryClient(url: string, http: RegistryHttp): RegistryClient {
  const throughHttp: Middleware = () => ({
    async response(_next, _renew, request) {
      const method = request.method().toUpperCase() as RegistryRequest['method'];
      const body = request.body() as string | undefined;
      const answer = await send(http, { method, path: request.path(), body });
      if (!isSuccess(answer.status)) throw new RefusedRequest(answer, method);
      // The library reads nothing else of an answer.
      return { data: () => answer.body } as never;
    },
  });
  return new SchemaRegistry(
    { host: url, middlewares: [throughHttp] },
    { [SchemaType.AVRO]: { typeHook: bareMaps } },
  );
}

/**
 * The library sets a subject's missing level after it has registered the schema. With the level set before, the
 * registry also checks that schema against the existing versions. A read-only registry does not register even a schema that
 * the subject has, but finds it.
 */
async function send(http: RegistryHttp, request: RegistryRequest): Promise<RegistryAnswer> {
  const { method, path } = request;
  const answer = await http(request);
  if (isReadOnly(answer) && method === 'POST') {
    const found = await http({ ...request, path: path.replace(/\/versions$/, '') });
    return isSuccess(found.status) ? found : answer;
  }
  if (method !== 'GET' || !path.startsWith('/config/') || answer.status !== NOT_FOUND) return answer;
  const set = await http({ method: 'PUT', path, body: JSON.stringify({ compatibility: LEVEL }) });
  // Some registries refuse a level for a subject that does not exist yet: there the library sets it later.
  return isSuccess(set.status) ? { ...set, body: { compatibilityLevel: LEVEL } } : set;
}
