import { expect, it } from 'vitest';
import { openMirror } from '../support/mirror.ts';
import { only } from '../support/only.ts';

it('run warns once of unknown fields and afterschools in its configuration, and status shows them', async () => {
  const users = { drop: ['emial', 'email'], ignore: ['shoeSize'] };
  const schedules = { drop: ['teachres'] };
  await using mirror = await openMirror({
    collections: only({ users, schedules, students: {}, 'afterschool-users': {} }),
    afterschools: ['sfo-9'],
    tenant: { schedules: { students: 'all' } },
  });
  await mirror.full();
  await mirror.full();
  const said = [
    'drop: no row has the field emial; did you mean email?',
    'ignore: no row has the field shoeSize',
    'drop: no row has the field teachres; did you mean teachers?',
    'afterschools: the hub does not know sfo-9',
  ];
  const warned = mirror.logLines.filter((line) => /no row has|does not know/.test(line));
  expect(warned.map((line) => (JSON.parse(line) as { msg: string }).msg).toSorted()).toEqual(said.toSorted());
  for (const sentence of said) expect(mirror.statusText()).toContain(sentence);
});
