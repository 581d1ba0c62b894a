import { afterAll, expect, it } from 'vitest';
import { loggedChanges } from '../../oracle/absences.ts';
import { openMirror, registerAbsence } from '../support/mirror.ts';
import { rollcall } from './support/rollcall.ts';

const COLLECTIONS = ['absence-versions', 'absences', 'absence-changes'];

const mirror = await openMirror({
  collections: COLLECTIONS,
  // Otherwise the daily full sync is long overdue.
  hubOptions: { students: 30, size: { absencesPerStudentYear: 3 }, startMs: Date.now() },
  settings: { deletions: { holdAbove: { rows: 1000, ratio: 1 } } },
});
afterAll(() => mirror[Symbol.asyncDispose]());
await mirror.full();

const register = (student: string) => registerAbsence(mirror.hub, student);
const refer = (id: string) => ({ sourcedId: id, type: 'absence', href: `https://hub.example/${id}` });
const lines = (text: string) => text.split('\n').filter((line) => line !== '');

it('status lists absences and absence-changes below absence-versions, without syncs of their own', async () => {
  const table = lines((await rollcall(mirror.configText, 'status')).stdout).map((line) => line.trim());
  const at = table.findIndex((line) => line.startsWith('absence-versions'));
  expect(table[at + 1]).toMatch(/^↳ absences +- .* \d+ .* - +0 +0$/);
  expect(table[at + 2]).toMatch(/^↳ absence-changes +- .* \d+ .* - +0 +0$/);
  expect(table[at + 1]).toContain(` ${(await mirror.view('absences')).size} `);
});

it('metrics count published events of absences, and the contradictory absences of the hub', async () => {
  const { district } = mirror.hub;
  const contradictions = async () =>
    Number(
      /^rollcall_absence_contradictions\{tenant="north"\} (\d+)$/m.exec(await mirror.metricsText())?.[1],
    );
  const [student = '', other = ''] = district.ids('students');
  const root = register(student);
  const deleted = register(student);
  district.replaceAbsence(root);
  for (const rival of [register(student), register(other)])
    district.patch('absence-versions', rival, { replaces: refer(root) });
  await mirror.incremental();
  expect(mirror.statusText()).toContain('all well, 3 contradictory absences');
  expect(mirror.statusText()).toContain('"needsPerson":false');
  const own = register(student);
  district.deleteAbsence(deleted);
  for (const [replaces, count] of [
    [refer(own), 4],
    [null, 3],
  ] as const) {
    district.patch('absence-versions', own, { replaces });
    await mirror.incremental();
    expect(await contradictions()).toBe(count);
  }
  const published = Map.groupBy(
    loggedChanges(await mirror.records('absence-changes')),
    ({ operation }) => operation,
  );
  expect([...published.keys()]).toEqual(expect.arrayContaining(['CREATED', 'REPLACED', 'DELETED']));
  for (const [operation, { length }] of published)
    expect(await mirror.metricsText()).toContain(
      `rollcall_absence_changes_total{tenant="north",operation="${operation.toLowerCase()}"} ${length}\n`,
    );
  await mirror.restart();
  expect(await contradictions()).toBe(3);
});

it('"rollcall tail --about" prints all records of a tenant that have an id in their key or value', async () => {
  const { district } = mirror.hub;
  const [student = ''] = district.ids('students');
  const root = register(student);
  const second = district.replaceAbsence(root);
  // A row without a readable id is kept as a whole in rejects.
  district.put('absence-versions', { sourcedId: 42, student: { sourcedId: student } }, { id: 'unreadable' });
  await mirror.incremental();
  async function about(id: string): Promise<string[]> {
    const { code, stdout, stderr } = await rollcall(mirror.configText, 'tail', '--about', id);
    expect([code, stderr]).toEqual([0, expect.stringContaining(mirror.topic('progress'))]);
    const inVersions = new RegExp(
      `^${mirror.topic('absence-versions')} +\\d+ .*Z +[1-9]\\d* +still published`,
      'm',
    );
    if (id !== 'nobody') expect(stderr).toMatch(inVersions);
    expect(stderr).toMatch(/^tenant north, searched to the end at \S+Z by Rollcall \d+\.\d+\.\d+: /m);
    expect(stderr.trimEnd().split('\n').at(-1)).toMatch(
      id === 'nobody' ? /^nothing found: / : /^not complete: the id is still published in /,
    );
    expect(stdout).not.toContain('"value":{');
    const records = lines(stdout).map((line) => JSON.parse(line) as { topic: string; key: string });
    return records.map(({ topic, key }) => `${topic} ${key}`).toSorted();
  }
  const readable = await Promise.all([...COLLECTIONS, 'rejects'].map((topic) => mirror.records(topic)));
  const containing = (id: string): string[] =>
    readable
      .flat()
      .flatMap(({ topic, key, value }) =>
        JSON.stringify({ key, value }).includes(id) ? [`${topic} ${key}`] : [],
      )
      .toSorted();
  const ofStudent = await about(student);
  expect(ofStudent.some((record) => record.startsWith(mirror.topic('rejects')))).toBe(true);
  expect(ofStudent).toEqual(containing(student));
  // The entry of the absence, whose key is another id, has this one in a packed form.
  const entry = `${mirror.topic('absence-state')} absences/${root}`;
  const ofVersion = await about(second);
  expect(ofVersion).toContain(entry);
  expect(ofVersion.filter((record) => !record.startsWith(mirror.topic('absence-state')))).toEqual(
    containing(second),
  );
  expect(await about('nobody')).toEqual([]);
  const { stdout } = await rollcall(mirror.configText, 'tail', 'absences', '--about', student, '--values');
  const [shown] = lines(stdout).map((line) => JSON.parse(line) as { value: { fromTime: string } });
  expect(shown?.value.fromTime).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
});
