import { expect, it } from 'vitest';
import { TenantSchemas } from '../../../src/log/registry/tenant-schemas.ts';
import { lostSchemaIds } from '../../../src/model/progress.ts';
import { loaded } from '../telemetry/support/board-of.ts';

/** Schemas of users and orgs, at a registry that has lost some ids and never knew others. */
function schemasWith({ lost = [], unknown = [] }: { lost?: number[]; unknown?: number[] }) {
  const schemas = new TenantSchemas({
    isLost: (id) => lost.includes(id),
    knows: (id) => Promise.resolve(!unknown.includes(id)),
  });
  schemas.set('users', 9);
  schemas.set('orgs', 4);
  return schemas;
}

it('a tenant publishes nothing while one of its schemas is lost, and the error names the schema', () => {
  expect(() => schemasWith({}).requireNoneLost()).not.toThrow();
  const schemas = schemasWith({ lost: [9] });
  expect(() => schemas.requireNoneLost()).toThrow(
    expect.objectContaining({ code: 'SCHEMA_LOST', message: expect.stringContaining('users') as string }),
  );
  expect([schemas.has('users'), schemas.has('orgs')]).toEqual([false, true]);
});

it('the progress of a tenant remembers schema ids that the registry has lost, and no ids in use', async () => {
  const schemas = schemasWith({ unknown: [7, 8] });
  const lostOf = async (...schemaIds: number[]) =>
    lostSchemaIds(await schemas.noteLost({ ...loaded('users', 0), schemaIds }));
  expect(await lostOf(9)).toEqual([]);
  expect(await lostOf(3)).toEqual([]);
  expect(await lostOf(8)).toEqual([8]);
  expect(await lostOf(8, 7, 3)).toEqual([8, 7]);
  expect(lostSchemaIds(await schemas.noteLost(loaded('users', 0)))).toEqual([]);
});
