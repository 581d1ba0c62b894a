import { expect, it } from 'vitest';
import { readSchemaFiles } from '../../../src/log/registry/schema-files.ts';
import { tenantSchemas } from '../../../src/log/registry/tenant-schemas.ts';
import { lostSchemaIds } from '../../../src/model/progress.ts';
import { loaded } from '../telemetry/support/board-of.ts';

/** Registered schemas of users and orgs, at a registry that loses subjects and does not know some ids. */
async function registeredSchemas({ unknown = [] }: { unknown?: number[] } = {}) {
  const lost = new Set<string>();
  const registered: string[] = [];
  const schemas = tenantSchemas({
    registry: {
      register: async (subject) => {
        lost.delete(subject);
        return registered.push(subject);
      },
      isLost: (subject) => lost.has(subject),
      knows: async (id) => !unknown.includes(id),
    },
    topics: [
      { name: 'p.t.users', suffix: 'users' },
      { name: 'p.t.orgs', suffix: 'orgs' },
      { name: 'p.t.absence-state', suffix: 'absence-state' },
    ],
    files: readSchemaFiles(),
  });
  await schemas.register();
  return { schemas, lost, registered };
}

it('a tenant publishes nothing while one of its schemas is lost, and registers only this one again', async () => {
  const { schemas, lost, registered } = await registeredSchemas();
  schemas.requireNoneLost();
  lost.add('p.t.users-value');
  expect(() => schemas.requireNoneLost()).toThrow(
    expect.objectContaining({ code: 'SCHEMA_LOST', message: expect.stringContaining('users') as string }),
  );
  await schemas.register();
  schemas.requireNoneLost();
  expect(registered).toEqual(['p.t.users-value', 'p.t.orgs-value', 'p.t.users-value']);
  expect([schemas.idOf('users'), schemas.idOf('orgs'), schemas.idOf('absence-state')]).toEqual([3, 2, null]);
});

it('the progress of a tenant remembers schema ids that the registry has lost, and no ids in use', async () => {
  const { schemas } = await registeredSchemas({ unknown: [7, 8] });
  const lostOf = async (...schemaIds: number[]) =>
    lostSchemaIds(await schemas.noteLost({ ...loaded('users', 0), schemaIds }));
  expect(await lostOf(1)).toEqual([]);
  expect(await lostOf(3)).toEqual([]);
  expect(await lostOf(8)).toEqual([8]);
  expect(await lostOf(8, 7, 3)).toEqual([8, 7]);
  expect(lostSchemaIds(await schemas.noteLost(loaded('users', 0)))).toEqual([]);
});
