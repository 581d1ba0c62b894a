import { expect, it } from 'vitest';
import { choose, chooseTenants } from '../../../src/cli/choose.ts';
import { load, yamlWith } from '../config/config-text.ts';

const config = load(yamlWith());

it('no name on the command line means every tenant', () => {
  expect(chooseTenants(config, undefined)).toBe(config.tenants);
});

it.each([
  ['an unknown tenant', () => chooseTenants(config, 'nroth'), 'There are: north'],
  ['an unknown collection', () => choose(config, { collection: ['lineitems'] }), 'line-items'],
  ["one of Rollcall's own topics", () => choose(config, { collection: ['rejects'] }), 'users'],
])('%s is refused with the names that there are', (_, attempt, known) => {
  const remedy = expect.stringContaining(known) as string;
  expect(attempt).toThrow(expect.objectContaining({ code: 'USAGE_INVALID', remedy }) as Error);
});
