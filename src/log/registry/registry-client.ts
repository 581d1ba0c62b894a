import { createRequire } from 'node:module';
import type { Schema, Type } from 'avsc';
import type * as Library from '@kafkajs/confluent-schema-registry';
import { NOT_FOUND, isReadOnly, isSuccess } from './registry-http.ts';
import type { RegistryAnswer, RegistryHttp, RegistryRequest } from './registry-http.ts';

// The library's index also loads parsers of JSON Schema and Protobuf: at each start some 60 ms of CPU time, and 11 MB
// that stay. Rollcall has Avro only. The constructors that stand in for the parsers refuse any other type of schema.
const require = createRequire(import.meta.url);
const LIBRARY = '@kafkajs/confluent-schema-registry';

function refuseOtherTypes(): never {
  throw new Error('the schema is not Avro');
}

for (const name of ['JsonSchema', 'ProtoSchema', 'ProtoHelper']) {
  const file = require.resolve(`${LIBRARY}/dist/${name}`);
  require.cache[file] ??= Object.assign(Object.create(null) as NodeJS.Module, {
    id: file,
    filename: file,
    loaded: true,
    exports: { default: refuseOtherTypes },
  });
}

const { SchemaRegistry, SchemaType, COMPATIBILITY } = require(LIBRARY) as typeof Library;

export { COMPATIBILITY, SchemaType };

/** The level of a subject: compacted topics keep values of every schema version, so each version must fit all others. */
export const LEVEL = 'FULL_TRANSITIVE';

/** Returns the name of a compatibility level, `unknown` for any other text: no finding quotes free text (invariant 9). */
export function knownLevel(level: unknown): string {
  const name = String(level).toUpperCase();
  return Object.hasOwn(COMPATIBILITY, name) ? name : 'unknown';
}

type Types = ReadonlyMap<string, Type>;
type Middleware = NonNullable<ConstructorParameters<typeof SchemaRegistry>[0]['middlewares']>[number];

/** An answer other than success. It has a `status`, because the client library knows by 404 that a subject has no level. */
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
 * (ADR 16). `known`: types by the text of their schema, which it need not compile.
 */
export function createRegistryClient(url: string, http: RegistryHttp, known: Types): Library.SchemaRegistry {
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
  // The hook is called for the parts of a schema, too. It looks up only the whole schema, because a part may refer to
  // another part by name.
  const typeHook = (schema: Schema, { registry }: { registry: object }) =>
    Object.keys(registry).length === 0 ? known.get(JSON.stringify(schema)) : undefined;
  return new SchemaRegistry({ host: url, middlewares: [throughHttp] }, { [SchemaType.AVRO]: { typeHook } });
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
