import { describe, expect, it } from 'vitest';
import { openMirror } from '../support/mirror.ts';

describe('odd data', () => {
  it('a row with a field named __proto__ is a reject and pollutes no prototype', async () => {
    await using mirror = await openMirror({ collections: ['users'], hubOptions: { faults: ['proto-keys'] } });
    await mirror.full();
    expect((await mirror.view('users')).size).toBe(0);
    expect((await mirror.view('rejects')).size).toBe(mirror.hub.district.ids('users').length);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(((x: object) => (x as { polluted?: boolean }).polluted)([])).toBeUndefined();
  });

  it('numbers keep their digits', async () => {
    await using mirror = await openMirror({
      collections: ['results'],
      hubOptions: { faults: ['big-numbers'] },
    });
    await mirror.full();
    for (const { value } of (await mirror.view('results')).values()) {
      expect(value?.['additionalFields']).toMatchObject({ 'x-big': '9007199254740993.25' });
    }
  });

  it('a row nested twenty thousand deep fails its collection by name', async () => {
    await using mirror = await openMirror({
      collections: ['courses'],
      hubOptions: { faults: ['deep-nesting=20000'] },
    });
    await expect(mirror.full()).rejects.toMatchObject({ code: 'HUB_BODY_INVALID' });
    expect((await mirror.view('courses')).size).toBe(0);
  });

  it('ids with bars, percent signs, quotes and letters of any script are distinct keys', async () => {
    const ids = [
      'a|b',
      'a%7Cb',
      'a%b',
      "o'hara",
      'å ø æ',
      '日本',
      'a b+c&d=e',
      '/../x',
      '__proto__',
      'A',
      'a',
      '😀',
    ];
    await using mirror = await openMirror({ collections: ['courses'], hubSettings: { pageSize: 3 } });
    const { district } = mirror.hub;
    for (const id of ids) district.put('courses', { sourcedId: id, title: `Course ${id}` });
    await mirror.full();
    expect(await mirror.differences()).toEqual({});
    const view = await mirror.view('courses');
    expect(ids.filter((id) => view.get(id)?.value?.['title'] === `Course ${id}`)).toEqual(ids);
    // These are fewer than half, so the guard withholds none.
    const before = await mirror.ends();
    const gone = ["o'hara", 'a|b', '日本', '__proto__'];
    for (const id of gone) district.remove('courses', id);
    await mirror.full();
    const removed = (await mirror.since(before)).map(({ key, value }) => [key, value]);
    expect(new Map(removed as [string, null][])).toEqual(new Map(gone.map((id) => [id, null])));
    expect(await mirror.differences()).toEqual({});
  });

  it('a row too large for a record goes to rejects, without its content', async () => {
    await using mirror = await openMirror({ collections: ['courses'] });
    mirror.hub.district.put('courses', { sourcedId: 'huge', title: 'x'.repeat(2_000_000) });
    await mirror.full();
    expect((await mirror.view('courses')).has('huge')).toBe(false);
    const reject = (await mirror.view('rejects')).get('courses|huge');
    expect(reject?.value).toMatchObject({ collection: 'courses', sourcedId: 'huge', row: null });
    mirror.hub.district.put('courses', { sourcedId: 'huge', title: 'small now' });
    await mirror.full();
    expect((await mirror.view('rejects')).size).toBe(0);
    expect(await mirror.differences()).toEqual({});
  });

  it('a first load of large rows is split into transactions that Kafka accepts', async () => {
    await using mirror = await openMirror({ collections: ['courses'] });
    for (let index = 0; index < 30; index += 1) {
      mirror.hub.district.put('courses', {
        sourcedId: `large-${index}`,
        title: String(index).repeat(400_000),
      });
    }
    await mirror.full();
    expect(await mirror.differences()).toEqual({});
  });
});
