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
    const defaults = { students: 'absent', daysBack: 7, daysAhead: 14, fields: DEFAULT_LESSON_FIELDS };
    expect(tenantWith('deltaEvery: 1m').schedules).toEqual(defaults);
    const fields = { ...DEFAULT_LESSON_FIELDS, start: 'tid.fra' };
    expect(tenantWith('schedules: { fields: { start: tid.fra } }').schedules).toEqual({
      ...defaults,
      fields,
    });
  });

  it.each([
    ['collections: all', true],
    [`collections: ${NO_ABSENCES}`, false],
    ['collections: [schedules]\nschedules: { students: [a] }', true],
    ['collections: [users]\nschedules: { students: all }', false],
    ['collections: { schedules: { drop: [teachers] } }', true],
  ])(
    'are left out, not refused, where nobody names the students and no setting asks for them: %s: %s',
    (text, is) => {
      expect(isMirrored(text)).toBe(is);
    },
  );

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
    'of absent students are refused where absences %s the student',
    (kind) => {
      const [text, why] = [
        `collections: { absence-versions: { ${kind}: [student] } }`,
        'schedules of absent students need it',
      ];
      expect(() => tenantWith(text)).toThrow(why);
      expect(() => tenantWith(`${text}\nschedules: { students: [a] }`)).not.toThrow(why);
    },
  );
});
