import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import { bareMaps } from '../core/avro-type.ts';
import { LEVEL, NOT_FOUND, isSuccess } from './registry-answer.ts';
import type { RegistryAnswer, RegistryHttp, RegistryRequest } from './registry-http.ts';

type Middleware = NonNullable<ConstructorParameters<typeof SchemaRegistry>[0]['middlewares']>[number];

/** An answer other than success. The library tells a subject without a level by `status`. */
export class RefusedRequest extends Error {
  readonly status: number;
  readonly method: string;

  constructor(status: number, method: string) {
    super(`HTTP ${status}`);
    this.status = status;
    this.method = method;
  }
}

/**
 * The library, whose requests go through `http`. Sent by itself they have no end when an answer is cut off, tell a
 * broken connection as an HTTP 400, and end the process when the body of an error is `null` (ADR 16).
 */
export function createRegistryClient(url: string, http: RegistryHttp): SchemaRegistry {
  const throughHttp: Middleware = () => ({
    async response(_next, _renew, request) {
      const method = request.method().toUpperCase() as RegistryRequest['method'];
      const body = request.body() as string | undefined;
      const answer = await withLevelFirst(http, { method, path: request.path(), body });
      if (!isSuccess(answer.status)) throw new RefusedRequest(answer.status, method);
      // All that the library takes of an answer.
      return { data: () => answer.body } as never;
    },
  });
  return new SchemaRegistry(
    { host: url, middlewares: [throughHttp] },
    { [SchemaType.AVRO]: { typeHook: bareMaps } },
  );
}

/**
 * The library gives a subject without a level its level after the schema. Given before, the registry holds that schema,
 * too, against what is there.
 */
async function withLevelFirst(http: RegistryHttp, request: RegistryRequest): Promise<RegistryAnswer> {
  const { method, path } = request;
  const answer = await http(request);
  if (method !== 'GET' || !path.startsWith('/config/') || answer.status !== NOT_FOUND) return answer;
  const set = await http({ method: 'PUT', path, body: JSON.stringify({ compatibility: LEVEL }) });
  // Some registries know no level of a subject that they have not met: the library sets it later there.
  return isSuccess(set.status) ? { ...set, body: { compatibilityLevel: LEVEL } } : set;
}
