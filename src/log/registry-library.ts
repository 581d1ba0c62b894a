import { createRequire } from 'node:module';
import type * as Library from '@kafkajs/confluent-schema-registry';

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

export const { SchemaRegistry, SchemaType, COMPATIBILITY } = require(LIBRARY) as typeof Library;
