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
  it('"all" leaves out class-students, which a list or map must name', () => {
    expect(namesOf('collections: all')).toEqual(DEFAULT);
  });

  it('a list mirrors only the collections that it names', () => {
    expect(namesOf('collections: [class-students, users]')).toEqual(['users', 'class-students']);
  });

  it('a map with settings leaves the collections on that it does not name', () => {
    expect(namesOf('collections: { results: { deltaEvery: 5m } }')).toEqual(DEFAULT);
  });

  it('a map turns collections on and off', () => {
    const names = namesOf('collections: { results: { enabled: false }, class-students: { enabled: true } }');
    expect(new Set(names)).toEqual(
      new Set([...DEFAULT.filter((name) => name !== 'results'), 'class-students']),
    );
  });

  it('afterschool-users are mirrored only where there are ids to ask for', () => {
    expect(namesOf('collections: [afterschool-users]')).toEqual([]);
    expect(namesOf('collections: [afterschool-users]\nafterschools: [a]')).toEqual(['afterschool-users']);
    expect(namesOf('afterschools: [a]')).toContain('afterschool-users');
  });
});

describe('class-students', () => {
  it.each(['drop: [students]', 'pseudonymise: [students]', 'ignore: [students]'])(
    'refuses a mapping, since its values are only ids: %s',
    (setting) => {
      const collections = `collections: { class-students: { enabled: true, ${setting} } }`;
      expect(() => namesOf(collections)).toThrow('the values consist of ids');
    },
  );
});

describe('absences and their changes', () => {
  it.each([
    ['[absences]', 'absence-versions'],
    ['[absence-versions, absences]', 'absence-changes'],
    ['{ absence-versions: { enabled: false } }', 'absence-versions'],
    ['{ absences: { enabled: false } }', 'absences'],
  ])('%s is refused, since it lacks %s', (collections, lacking) => {
    expect(() => namesOf(`collections: ${collections}`)).toThrow(`require ${lacking}`);
  });

  it.each(['drop: [school]', 'pseudonymise: [student]', 'deltaEvery: 5m'])(
    'a setting without effect is refused: %s',
    (setting) => {
      expect(() => namesOf(`collections: { absences: { ${setting} } }`)).toThrow(
        'set it for absence-versions',
      );
    },
  );

  it('the versions alone can be mirrored', () => {
    expect(namesOf('collections: [absence-versions]')).toEqual(['absence-versions']);
  });
});

describe('settings of a collection', () => {
  const tenant = tenantWith(
    'deltaEvery: 90s\ncollections: { results: { deltaEvery: 5m, drop: [comment], ignore: [score], fullPull: { at: "02:30", timeZone: UTC } } }',
  );

  it("a collection's own settings come before the tenant’s", () => {
    expect(collectionSettings(tenant, 'results')).toEqual({
      enabled: true,
      deltaEveryMs: 300_000,
      fullPull: { at: '02:30', timeZone: 'UTC' },
      drop: ['comment'],
      pseudonymise: [],
      ignore: ['score'],
    });
  });

  it('the tenant’s settings apply where the collection has none', () => {
    expect(collectionSettings(tenant, 'users')).toEqual({
      enabled: true,
      deltaEveryMs: 90_000,
      fullPull: { at: '04:00', timeZone: 'Europe/Oslo' },
      drop: [],
      pseudonymise: [],
      ignore: [],
    });
  });
});

describe('partitions', () => {
  it('progress has one whatever is configured', () => {
    const { kafka } = load(yamlWith({ kafka: 'partitions: 12' }));
    expect([partitionsOf(kafka, 'progress'), partitionsOf(kafka, 'users')]).toEqual([1, 12]);
  });

  it('a map without default keeps the default of 3', () => {
    const { kafka } = load(yamlWith({ kafka: 'partitions: { results: 6 }' }));
    expect([partitionsOf(kafka, 'results'), partitionsOf(kafka, 'rejects')]).toEqual([6, 3]);
  });
});
