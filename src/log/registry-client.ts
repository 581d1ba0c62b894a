import { createRequire } from 'node:module';
import type * as Library from '@kafkajs/confluent-schema-registry';
import { bareMaps } from '../core/value-codec.ts';
import { isSuccess } from './registry-http.ts';
import type { RegistryAnswer, RegistryHttp, RegistryRequest } from './registry-http.ts';

// The library's index also loads parsers of JSON Schema and Protobuf: at each start some 60 ms of CPU time, and 11 MB that
// stay. Rollcall has Avro only. A schema of another type is refused as before, by the error of these constructors.
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

type Middleware = NonNullable<ConstructorParameters<typeof SchemaRegistry>[0]['middlewares']>[number];

/** An answer other than success. The library recognises a subject without a level by `status`. */
export class RefusedRequest extends Error {
  readonly status: number;
  readonly method: string;

  constructor(answer: RegistryAnswer, method: string) {
    super(`HTTP ${answer.status}`);
    this.status = answer.status;
    this.method = method;
  }
}

/**
 * Creates the library's client and sends its requests through `http`. The library's own requests never end when an
 * answer is cut off, report a broken connection as HTTP 400, and end the process when an error's body is `null`
 * (ADR 16).
 */
export function createRegistryClient(url: string, http: RegistryHttp): Library.SchemaRegistry {
  const throughHttp: Middleware = () => ({
    async response(_next, _renew, request) {
      const method = request.method().toUpperCase() as RegistryRequest['method'];
      const body = request.body() as string | undefined;
      const answer = await http({ method, path: request.path(), body });
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
