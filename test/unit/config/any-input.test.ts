import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { RollcallError } from '../../../src/errors.ts';
import { load, yamlWith } from './config-text.ts';

describe('any input', () => {
  const key = fc.constantFrom(
    'tenants',
    'kafka',
    'hub',
    'id',
    'collections',
    'users',
    'redis',
    'url',
    'ssl',
    'partitions',
    'sasl',
    'pseudonymise',
    'drop',
    '__proto__',
    'constructor',
    'toString',
    '${A}',
    '',
  );
  const scalar = fc.oneof(
    fc.constantFrom(
      'all',
      '60s',
      '${A}',
      '${file:/x}',
      '$${',
      '${',
      'https://h',
      'redis://:%zz@h',
      '*a',
      '!t',
      '-----BEGIN',
      '1e999',
      '0x',
      '99999999999d',
    ),
    fc.string(),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      scalar,
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 6 }),
    ),
  }));
  const refusedOrLoaded = (text: string) => {
    try {
      load(text, { env: { A: 'a' } });
    } catch (error) {
      expect(error).toBeInstanceOf(RollcallError);
    }
  };

  it('any file is loaded or refused with a known error', () => {
    expect.hasAssertions();
    fc.assert(
      fc.property(tree, (value) => refusedOrLoaded(stringify(value))),
      { numRuns: 300 },
    );
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...Array.from('ab:-?&*!|>%@`\'"{}[]#,$ \n\t\u0000\uD800')) }),
        refusedOrLoaded,
      ),
      { numRuns: 1000 },
    );
  });

  it('any value in place of one section is loaded or refused with a known error', () => {
    expect.hasAssertions();
    const sections = fc.constantFrom(
      'collections',
      'schedules',
      'fullPull',
      'absences',
      'afterschools',
      'id',
      'hub',
    );
    fc.assert(
      fc.property(sections, tree, (section, value) => {
        refusedOrLoaded(
          yamlWith({ tenant: `${section}: ${JSON.stringify(value)}` }).replace(
            section === 'id' ? 'id: north' : 'nothing',
            'deltaEvery: 1s',
          ),
        );
      }),
      { numRuns: 300 },
    );
  });
});
