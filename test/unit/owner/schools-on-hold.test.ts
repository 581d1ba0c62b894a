import { expect, it } from 'vitest';
import { schoolOf } from '../../../src/owner/schools-on-hold.ts';

const ref = (sourcedId: string) => ({ sourcedId, href: null, type: null });

it.each([
  ['its school', { class: ref('c'), school: ref('s') }, 's'],
  ['its main school', { primaryOrg: ref('s1'), roles: [{ org: ref('s2') }] }, 's1'],
  ['the school of its first role', { primaryOrg: null, roles: [{ org: ref('s2') }] }, 's2'],
  ['no school, and no person instead', { user: ref('pupil'), student: ref('pupil'), sourcedId: 'p' }, null],
  ['no school if it has no value', null, null],
])('a row on hold counts for %s', (_, value, school) => {
  expect(schoolOf(value)).toBe(school);
});
