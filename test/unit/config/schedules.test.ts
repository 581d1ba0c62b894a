import { describe, expect, it } from 'vitest';
import { enabledCollections } from '../../../src/config.ts';
import { DEFAULT_LESSON_FIELDS } from '../core/support/lesson-fields.ts';
import { load, yamlWith } from './config-text.ts';

function tenantWith(text: string) {
  const [tenant] = load(yamlWith({ tenant: text })).tenants;
  if (tenant === undefined) throw new Error('no tenant');
  return tenant;
}

const isMirrored = (text: string): boolean =>
  enabledCollections(tenantWith(text)).some(({ name }) => name === 'schedules');

const NO_ABSENCES = '{ absences: { enabled: false }, absence-changes: { enabled: false } }';

describe('schedules', () => {
  it('default to absent students, a week back, two weeks ahead and each part of a lesson under its own name', () => {
    expect(tenantWith('deltaEvery: 1m').schedules).toEqual({
      students: 'absent',
      daysBack: 7,
      daysAhead: 14,
      fields: DEFAULT_LESSON_FIELDS,
    });
  });

  it('take the configured name of a part instead of its own, and keep the others', () => {
    const { fields } = tenantWith('schedules: { fields: { start: tid.fra } }').schedules;
    expect(fields).toEqual({ ...DEFAULT_LESSON_FIELDS, start: 'tid.fra' });
  });

  it('are left out, not refused, where no collection names the students and no setting asks for schedules', () => {
    expect(isMirrored('collections: all')).toBe(true);
    expect(isMirrored(`collections: ${NO_ABSENCES}`)).toBe(false);
    expect(isMirrored('collections: [schedules]\nschedules: { students: [a] }')).toBe(true);
    expect(isMirrored('collections: [users]\nschedules: { students: all }')).toBe(false);
  });

  it.each([
    ['collections: [users, schedules]', 'absences'],
    [`collections: ${NO_ABSENCES.replace('}', '}, schedules: {}')}`, 'absences'],
    [`collections: ${NO_ABSENCES}\nschedules: { daysBack: 1 }`, 'absences'],
    ['collections: { students: { enabled: false } }\nschedules: { students: all }', 'students'],
    ['collections: [schedules, absence-versions]\nschedules: { students: all }', 'students'],
  ])('are refused without the collection that names the students: %s', (text, needed) => {
    expect(() => tenantWith(text)).toThrow(
      new RegExp(`tenants\\[0\\]\\.schedules\\.students needs the collection ${needed}`),
    );
  });

  it.each([
    'schedules: { fields: { start: [start] } }',
    'schedules: { fields: { start: tid..fra } }',
    'schedules: { fields: { begin: [start] } }',
    'collections: { schedules: { drop: [start] } }',
    'schedules: { fields: { start: tid.fra } }\ncollections: { schedules: { pseudonymise: [tid] } }',
  ])('are refused with a mapping that can find no start: %s', (text) => {
    expect(() => tenantWith(text)).toThrow(/rollcall\.yaml/);
  });

  it.each(['drop', 'pseudonymise'])(
    'are refused where the absences that name the students lack the student: %s',
    (kind) => {
      const text = `collections: { absence-versions: { ${kind}: [student] } }`;
      expect(() => tenantWith(text)).toThrow('schedules of absent students need it');
      expect(() => tenantWith(`${text}\nschedules: { students: [a] }`)).not.toThrow(
        'schedules of absent students need it',
      );
    },
  );

  it('may drop teachers', () => {
    expect(isMirrored('collections: { schedules: { drop: [teachers] } }')).toBe(true);
  });
});
