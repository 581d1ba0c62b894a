import { describe, expect, it } from 'vitest';
import { choose, chooseTenants } from '../../../src/cli/choose.ts';
import { RollcallError } from '../../../src/errors.ts';

import { load, yamlWith } from '../config/config-text.ts';

function refusal(attempt: () => unknown): RollcallError {
  try {
    attempt();
  } catch (error) {
    if (error instanceof RollcallError) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

describe('names on the command line', () => {
  const config = load(yamlWith());

  it('no name means every tenant', () => {
    expect(chooseTenants(config, undefined)).toBe(config.tenants);
  });

  it('an unknown tenant is refused with the known ones', () => {
    const { code, message, remedy } = refusal(() => chooseTenants(config, 'nroth'));
    expect({ code, message }).toEqual({ code: 'USAGE_INVALID', message: 'There is no tenant "nroth"' });
    expect(remedy).toContain('There are: north');
  });

  it('an unknown collection is refused with the known ones', () => {
    expect(refusal(() => choose(config, { collection: ['lineitems'] })).remedy).toContain('line-items');
  });

  it("Rollcall's own topics are no collections", () => {
    expect(refusal(() => choose(config, { collection: ['rejects'] })).code).toBe('USAGE_INVALID');
  });
});
