import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { RollcallError } from '../../../src/errors.ts';
import { load, yamlWith } from './config-text.ts';

describe('any input', () => {
  const keys = 'tenants kafka hub id collections users redis url ssl partitions sasl pseudonymise drop ${A}';
  const key = fc.constantFrom(...keys.split(' '), '__proto__', 'constructor', 'toString', '');
  const texts =
    'all 60s ${A} ${file:/x} $${ ${ https://h redis://:%zz@h *a !t -----BEGIN 1e999 0x 99999999999d';
  const oddities = fc.constantFrom(...texts.split(' '));
  const scalar = fc.oneof(oddities, fc.string(), fc.double(), fc.boolean(), fc.constant(null));
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

  it('any file, and any value in place of one section, is loaded or refused with a known error', () => {
    expect.hasAssertions();
    const odd = fc.constantFrom(...Array.from('ab:-?&*!|>%@`\'"{}[]#,$ \n\t\u0000\uD800'));
    const sections = 'collections schedules fullPull absences afterschools id hub'.split(' ');
    const inSection = fc.tuple(fc.constantFrom(...sections), tree).map(([section, value]) => {
      const yaml = yamlWith({ tenant: `${section}: ${JSON.stringify(value)}` });
      return section === 'id' ? yaml.replace('id: north', 'deltaEvery: 1s') : yaml;
    });
    const files = fc.oneof(
      tree.map((value) => stringify(value)),
      fc.string({ unit: odd }),
      inSection,
    );
    fc.assert(fc.property(files, refusedOrLoaded), { numRuns: 1200 });
  });
});
