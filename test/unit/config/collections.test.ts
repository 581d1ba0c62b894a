import { describe, expect, it } from 'vitest';
import { collectionSettings, enabledCollections, partitionsOf } from '../../../src/config.ts';
import { COLLECTIONS } from '../../../src/model/collections.ts';
import { load, yamlWith } from './config-text.ts';

function tenantWith(text: string) {
  const [tenant] = load(yamlWith({ tenant: text })).tenants;
  if (tenant === undefined) throw new Error('no tenant');
  return tenant;
}

function namesOf(text: string): string[] {
  return enabledCollections(tenantWith(text)).map(({ name }) => name);
}

const DEFAULT = COLLECTIONS.filter((name) => name !== 'class-students' && name !== 'afterschool-users');

describe('which collections are mirrored', () => {
  const [NOT_RESULTS, PAIR] = [DEFAULT.filter((name) => name !== 'results'), ['users', 'class-students']];
  it.each([
    ['"all" leaves out class-students, which a list or map must name', 'collections: all', DEFAULT],
    ['a list mirrors only what it names', 'collections: [class-students, users]', PAIR],
    ['a map leaves on what it does not name', 'collections: { results: { deltaEvery: 5m } }', DEFAULT],
    ['a map turns off', 'collections: { results: { enabled: false } }', NOT_RESULTS],
    ['a map turns on', 'collections: { class-students: { enabled: true } }', [...DEFAULT, 'class-students']],
    ['afterschool-users need ids to ask for', 'collections: [afterschool-users]', []],
    ['ids are enough', 'afterschools: [a]', [...DEFAULT, 'afterschool-users']],
    ['versions alone can be mirrored', 'collections: [absence-versions]', ['absence-versions']],
  ])('%s: %s', (_name, text, names) => {
    expect(namesOf(text).toSorted()).toEqual(names.toSorted());
  });

  it.each([
    ['[absences]', 'require absence-versions'],
    ['[absence-versions, absences]', 'require absence-changes'],
    ['{ absence-versions: { enabled: false } }', 'require absence-versions'],
    ['{ absences: { enabled: false } }', 'require absences'],
    ['{ absences: { drop: [school] } }', 'set it for absence-versions'],
    ['{ absences: { pseudonymise: [student] } }', 'set it for absence-versions'],
    ['{ absences: { deltaEvery: 5m } }', 'set it for absence-versions'],
    ['{ class-students: { enabled: true, drop: [students] } }', 'the values consist of ids'],
    ['{ class-students: { enabled: true, pseudonymise: [students] } }', 'the values consist of ids'],
    ['{ class-students: { enabled: true, ignore: [students] } }', 'the values consist of ids'],
  ])('a setting without effect, or without what it needs, is refused: %s', (collections, why) => {
    expect(() => namesOf(`collections: ${collections}`)).toThrow(why);
  });
});

it("a collection's own settings come before the tenant’s, which apply where it has none", () => {
  const own = 'deltaEvery: 5m, drop: [comment], ignore: [score], fullPull: { at: "02:30", timeZone: UTC }';
  const tenant = tenantWith(`deltaEvery: 90s\ncollections: { results: { ${own} } }`);
  const none = { enabled: true, drop: [], pseudonymise: [], ignore: [] };
  const daily = { at: '04:00', timeZone: 'Europe/Oslo' };
  expect(collectionSettings(tenant, 'users')).toEqual({ ...none, deltaEveryMs: 90_000, fullPull: daily });
  expect(collectionSettings(tenant, 'results')).toEqual({
    ...none,
    deltaEveryMs: 300_000,
    fullPull: { at: '02:30', timeZone: 'UTC' },
    drop: ['comment'],
    ignore: ['score'],
  });
});

it('`progress` has one partition whatever is configured, and a map without default keeps the default of 3', () => {
  const partitions = (written: string, ...topics: Parameters<typeof partitionsOf>[1][]) =>
    topics.map((topic) => partitionsOf(load(yamlWith({ kafka: `partitions: ${written}` })).kafka, topic));
  expect(partitions('12', 'progress', 'users')).toEqual([1, 12]);
  expect(partitions('{ results: 6 }', 'results', 'rejects')).toEqual([6, 3]);
});
