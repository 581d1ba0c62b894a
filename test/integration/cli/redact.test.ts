import { describe, expect, it } from 'vitest';
import { configTextOf, openMirror, type MirrorOptions } from '../support/mirror.ts';
import { only } from '../support/only.ts';
import { configFile } from './support/config-file.ts';
import { rollcall, type Ended } from './support/rollcall.ts';

const OPTIONS: MirrorOptions = {
  collections: only({ 'absence-versions': {}, absences: {}, 'absence-changes': {} }),
  hubOptions: { students: 12, size: { absencesPerStudentYear: 4 } },
};

const tenants = ({ stdout }: Ended): unknown => (JSON.parse(stdout) as { tenants: unknown }).tenants;

describe('republish absence-changes --redact', () => {
  it('only counts until it is confirmed, then removes dropped fields from each event once', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    const events = (await mirror.view('absence-changes')).size;
    expect(events).toBeGreaterThan(0);
    using config = configFile(
      configTextOf(mirror.hub, mirror.topicPrefix, {
        ...OPTIONS,
        collections: only({ 'absence-versions': { drop: ['school'] }, absences: {}, 'absence-changes': {} }),
      }),
    );
    // The command asks for changes only; the changed mapping makes it a full sync.
    expect((await rollcall(config.path, 'pull')).code).toBe(0);
    expect(await schoolsIn('absence-versions')).toBe(0);
    expect(await schoolsIn('absence-changes')).toBe(events);
    const redact = (...args: string[]): Promise<Ended> =>
      rollcall(config.path, 'republish', 'absence-changes', '--redact', '--json', ...args);
    const ends = await mirror.ends();
    const asked = await redact();
    expect([asked.code, asked.stderr, tenants(asked)]).toEqual([
      3,
      expect.stringContaining('Inform the consumers of absence-changes, then add --yes.'),
      [{ tenant: 'north', absences: events }],
    ]);
    const counted = await redact('--dry-run');
    expect([counted.code, tenants(counted)]).toEqual([0, [{ tenant: 'north', absences: events }]]);
    expect(await mirror.since(ends)).toEqual([]);
    const done = await redact('--yes');
    expect([done.code, tenants(done)]).toEqual([0, [{ tenant: 'north', absences: events }]]);
    expect(await schoolsIn('absence-changes')).toBe(0);
    const republication = await redact('--yes');
    expect([republication.code, tenants(republication)]).toEqual([0, [{ tenant: 'north', absences: 0 }]]);
    expect((await redact('--key', 'one', '--yes')).code).toBe(2);

    async function schoolsIn(topic: string): Promise<number> {
      const records = [...(await mirror.view(topic)).values()];
      return records.filter(({ value }) => /"school":(?!null)/.test(JSON.stringify(value))).length;
    }
  });
});
