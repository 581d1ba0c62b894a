import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRowReader } from '../../../src/core/row-reader.ts';
import { createValueCodec } from '../../../src/core/value-codec.ts';
import { ROW_COLLECTIONS } from '../../../src/model/collections.ts';
import { arbitraryRow } from './support/arbitrary-rows.ts';
import { schemaOf } from './support/rows.ts';

describe('the hash of a record that is read back', () => {
  it.each(ROW_COLLECTIONS)('of %s is the hash of its row', (name) => {
    const schema = schemaOf(name);
    const reader = createRowReader({ schema });
    const codec = createValueCodec(schema);
    fc.assert(
      fc.property(arbitraryRow(schema), (row) => {
        const reading = reader.read(row);
        if (reading.kind !== 'row') return;
        const decoded = codec.fromBuffer(reader.encode(reading.value));
        expect(reader.hashOf?.(decoded)).toEqual(reading.hash);
      }),
      { numRuns: 100 },
    );
  });
});
