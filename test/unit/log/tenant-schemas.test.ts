import { describe, expect, it } from 'vitest';
import { TenantSchemas } from '../../../src/log/tenant-schemas.ts';

/** Schemas of users and orgs, at a registry that has lost some ids. */
function schemasWith({ lost = [] }: { lost?: number[] }) {
  const schemas = new TenantSchemas({ isLost: (id) => lost.includes(id) });
  schemas.set('users', 9);
  schemas.set('orgs', 4);
  return schemas;
}

describe('the schemas of a tenant', () => {
  it('of which one is lost forbid to publish, by name, and that one is to be registered again', () => {
    expect(() => schemasWith({}).requireHeld()).not.toThrow();
    const schemas = schemasWith({ lost: [9] });
    expect(() => schemas.requireHeld()).toThrow(
      expect.objectContaining({ code: 'SCHEMA_LOST', message: expect.stringContaining('users') as string }),
    );
    expect([schemas.has('users'), schemas.has('orgs')]).toEqual([false, true]);
  });
});
