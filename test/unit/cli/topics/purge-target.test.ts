import { describe, expect, it } from 'vitest';
import { purgeTarget, type PurgeFlags } from '../../../../src/cli/topics/purge-target.ts';
import { loadConfig } from '../../../../src/config.ts';

const hub = { baseUrl: 'http://h', tokenUrl: 'http://t', clientId: 'c', clientSecret: 's' };
const text = JSON.stringify({
  tenants: [
    { id: 'north', hub, collections: ['users', 'afterschool-users'], afterschools: ['a'] },
    { id: 'south', hub, collections: ['users'] },
  ],
  kafka: { brokers: ['k:9092'] },
  registry: { url: 'http://r' },
});
const config = loadConfig({ path: 'rollcall.yaml', env: {}, readFile: () => text });
const target = (flags: PurgeFlags) => purgeTarget(config, flags);

describe('a purge', () => {
  it('takes by name what the configuration no longer wants', () => {
    expect(target({ tenant: 'north', collection: ['results'] })).toMatchObject({
      kind: 'collections',
      name: 'results',
    });
    expect(target({ tenant: 'north', collection: ['results', 'orgs', 'orgs'] })).toMatchObject({
      name: 'north',
      collections: ['results', 'orgs'],
    });
    expect(target({ tenant: 'west' })).toMatchObject({ kind: 'tenants', tenantId: 'west', name: 'west' });
    expect(target({ prefix: 'old' })).toMatchObject({ kind: 'tenants', tenantId: null, name: 'old' });
    expect(target({ prefix: 'old', tenant: 'north' })).toMatchObject({
      topicPrefix: 'old',
      tenantId: 'north',
      name: 'north',
    });
  });

  it.each<PurgeFlags>([
    { tenant: 'north', collection: ['users'] },
    { tenant: 'north', collection: ['results', 'users'] },
    { tenant: 'north', collection: ['afterschool-users'] },
    { tenant: 'north' },
    { tenant: 'north', prefix: 'rollcall' },
    { prefix: 'rollcall' },
  ])('refuses what the configuration still wants: %j', (flags) => {
    expect(() => target(flags)).toThrow(/still includes/);
  });

  it.each<PurgeFlags>([
    {},
    { collection: ['results'] },
    { tenant: 'west', collection: ['results'] },
    { prefix: 'old', collection: ['results'] },
    { tenant: 'north', collection: ['progress'] },
    { tenant: 'north', collection: ['rejects'] },
  ])('refuses what is not named or does not exist: %j', (flags) => {
    expect(() => target(flags)).toThrow(/names nothing|only entire|the entire tenant|There is no/);
  });
});
