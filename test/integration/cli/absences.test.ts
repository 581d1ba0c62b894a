import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loggedChanges } from '../support/chain-oracle.ts';
import { openMirror, type Mirror } from '../support/mirror.ts';
import { rollcall } from './support/rollcall.ts';

const COLLECTIONS = ['absence-versions', 'absences', 'absence-changes'];
const SIZE = { absencesPerStudentYear: 3 };

let mirror: Mirror;
let folder: string;
let configPath: string;
beforeAll(async () => {
  mirror = await openMirror({
    collections: COLLECTIONS,
    // Otherwise the daily full sync is long overdue.
    hubOptions: { students: 30, size: SIZE, startMs: Date.now() },
    settings: { deletions: { withholdAbove: { rows: 1000, ratio: 1 } } },
  });
  folder = mkdtempSync(join(tmpdir(), 'rollcall-absences-'));
  configPath = join(folder, 'rollcall.yaml');
  writeFileSync(configPath, mirror.configText);
  await mirror.full();
});
afterAll(async () => {
  await mirror[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

function register(student = mirror.hub.district.ids('students')[0] ?? ''): string {
  return mirror.hub.district.registerAbsence({
    student,
    fromTime: '2026-03-10T08:00:00Z',
    toTime: '2026-03-10T09:00:00Z',
  });
}

function refer(id: string): Record<string, string> {
  return { sourcedId: id, type: 'absence', href: `https://hub.example/${id}` };
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

/** The gauge of contradictory absences. */
async function reportedContradictions(): Promise<number> {
  const gauge = /^rollcall_absence_contradictions\{tenant="north"\} (\d+)$/m.exec(await mirror.metricsText());
  return Number(gauge?.[1]);
}

describe('status', () => {
  it('shows the collections derived from absence-versions below it, without syncs of their own', async () => {
    const { code, stdout } = await rollcall(configPath, 'status');
    expect(code).toBe(1);
    expect(stdout).toContain('✗ north  owner: no process mirrors the tenant');
    const table = lines(stdout).map((line) => line.trim());
    const at = table.findIndex((line) => line.startsWith('absence-versions'));
    expect(table[at + 1]).toMatch(/^↳ absences +\d+ .* - +0 +0$/);
    expect(table[at + 2]).toMatch(/^↳ absence-changes +\d+ .* - +0 +0$/);
    const view = await mirror.view('absences');
    expect(table[at + 1]).toContain(` ${view.size} `);
  });

  it('counts records that contradict each other, which need no decision of a person', async () => {
    const { district } = mirror.hub;
    const [student = '', other = ''] = district.ids('students');
    const root = register(student);
    district.replaceAbsence(root);
    const rival = register(student);
    district.patch('absence-versions', rival, { replaces: refer(root) });
    const ofAnother = register(other);
    district.patch('absence-versions', ofAnother, { replaces: refer(root) });
    await mirror.delta();
    expect(mirror.statusText()).toContain('all well, 3 contradictory absences');
    expect(mirror.statusText()).toContain('"needsPerson":false');
    expect(await reportedContradictions()).toBe(3);
  });

  it('no longer counts contradictions that the hub has put right', async () => {
    const { district } = mirror.hub;
    const root = register();
    district.patch('absence-versions', root, { replaces: refer(root) });
    await mirror.delta();
    expect(await reportedContradictions()).toBe(4);
    district.patch('absence-versions', root, { replaces: null });
    await mirror.delta();
    expect(await reportedContradictions()).toBe(3);
    await mirror.restart();
    expect(await reportedContradictions()).toBe(3);
  });
});

describe('tail --about', () => {
  it('prints each record in whose key or value the id stands, over all topics of the tenant', async () => {
    const { district } = mirror.hub;
    const [student = ''] = district.ids('students');
    const root = register(student);
    const second = district.replaceAbsence(root);
    // A row without a readable id is kept as a whole in rejects.
    district.put('absence-versions', { sourcedId: 42, student: { sourcedId: student } }, { id: 'odd' });
    await mirror.delta();
    const about = async (id: string): Promise<string[]> => {
      const { code, stdout, stderr } = await rollcall(configPath, 'tail', '--about', id);
      expect([code, stderr]).toEqual([0, expect.stringContaining(`${mirror.topicPrefix}.north.progress`)]);
      expect(stdout).not.toContain('"value":{');
      return lines(stdout).map((line) => {
        const { topic, key } = JSON.parse(line) as { topic: string; key: string };
        return `${topic} ${key}`;
      });
    };
    const containing = async (id: string, topics: readonly string[]): Promise<string[]> => {
      const all = await Promise.all(topics.map((topic) => mirror.records(topic)));
      const found = all.flat().filter(({ key, value }) => JSON.stringify({ key, value }).includes(id));
      return found.map(({ topic, key }) => `${topic} ${key}`).toSorted();
    };
    const readable = [...COLLECTIONS, 'rejects'];
    const state = mirror.topic('absence-state');
    const ofStudent = await about(student);
    expect(ofStudent.some((record) => record.startsWith(mirror.topic('rejects')))).toBe(true);
    expect(ofStudent.toSorted()).toEqual(await containing(student, readable));
    const ofVersion = await about(second);
    expect(ofVersion.filter((record) => !record.startsWith(state)).toSorted()).toEqual(
      await containing(second, readable),
    );
    // The entry of the absence, whose key is another id, has this one in a packed form.
    expect(ofVersion).toContain(`${state} absences/${root}`);
    district.remove('absence-versions', 'odd');
  });

  it('prints no record of an id that nothing holds', async () => {
    const { code, stdout, stderr } = await rollcall(configPath, 'tail', '--about', 'nobody');
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain('no records');
  });
});

describe('topics list', () => {
  it('lists the topics of absences without differences from the contract', async () => {
    const { code, stdout } = await rollcall(configPath, 'topics', 'list');
    expect(code).toBe(0);
    for (const name of COLLECTIONS) expect(stdout).toContain(mirror.topic(name));
  });
});

describe('metrics and log', () => {
  it('count exactly the changes that were published', async () => {
    const published = loggedChanges(await mirror.records('absence-changes'));
    const text = await mirror.metricsText();
    for (const operation of ['CREATED', 'REPLACED', 'DELETED', 'RESTORED']) {
      const count = published.filter((change) => change.operation === operation).length;
      const labels = `tenant="north",operation="${operation.toLowerCase()}"`;
      expect(text).toContain(`rollcall_absence_changes_total{${labels}} ${count}\n`);
    }
    for (const operation of ['CREATED', 'REPLACED', 'DELETED']) {
      expect(published.map((change) => change.operation)).toContain(operation);
    }
  });

  it('name the created and shown absences of a sync, and nothing of one that changed none', async () => {
    await mirror.delta();
    const syncs = mirror.logLines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === 'a sync ended');
    const [first] = syncs;
    expect(first).toMatchObject({
      level: 'info',
      collection: 'absence-versions',
      // oxlint-disable-next-line typescript/no-unsafe-assignment -- vitest's matchers are any
      absences: { created: expect.any(Number), shown: expect.any(Number) },
    });
    expect(syncs.some((sync) => !('absences' in sync))).toBe(true);
  });
});
