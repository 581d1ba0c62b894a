import { describe, expect, it } from 'vitest';
import { eventsBench } from './support/events-bench.ts';

type Bench = Awaited<ReturnType<typeof eventsBench>>;

function publishedBefore({ before }: Bench, count: number, note = 'private'): void {
  for (let at = 0; at < count; at += 1) before({ key: `a${at}`, step: 1, note });
}

const notes = ({ last }: Bench): (string | null | undefined)[] =>
  [...last().values()].map((each) => each?.note);

describe('republish absence-changes', () => {
  it('publishes every event without what the mapping drops, in transactions of 10,000 events', async () => {
    const bench = await eventsBench();
    publishedBefore(bench, 25_000);
    expect((await bench.republish()).published).toBe(25_000);
    expect(bench.sizes()).toEqual([10_000, 10_000, 5_000]);
    expect(new Set(notes(bench))).toEqual(new Set([null]));
  });

  it('keeps each transaction below some 8 MB', async () => {
    const bench = await eventsBench({ keepsNotes: true });
    publishedBefore(bench, 5, 'x'.repeat(3_000_000));
    await bench.republish();
    expect(bench.sizes()).toEqual([3, 2]);
  });

  it('publishes the last event of an absence, once, as a snapshot, and none of one that was forgotten', async () => {
    const bench = await eventsBench();
    for (const step of [1, 2, 3]) bench.before({ key: 'a1', step, note: 'private' });
    await bench.publish('a2', { step: 1, note: null });
    await bench.publish('a2', null);
    expect(await bench.republish()).toMatchObject({ published: 1, missing: [] });
    expect(bench.sizes().slice(2)).toEqual([1]);
    expect(bench.last()).toEqual(
      new Map([
        ['a1', { key: 'a1', step: 3, note: null, snapshot: true }],
        ['a2', null],
      ]),
    );
  });

  it('publishes only the named absences, and names those that have no event', async () => {
    const bench = await eventsBench();
    publishedBefore(bench, 3);
    expect(await bench.republish(['a1', 'a7'])).toMatchObject({ published: 1, missing: ['a7'] });
    expect(notes(bench).filter((note) => note !== 'private')).toEqual([null]);
    expect(bench.last().get('a1')?.note).toBeNull();
  });

  // The first reading finds the last events, the second one publishes them.
  it.each([1, 2])(
    'never publishes an event after a newer one that a sync decides meanwhile (in reading %i)',
    async (reading) => {
      const bench = await eventsBench();
      publishedBefore(bench, 4);
      const publications: Promise<unknown>[] = [];
      bench.atReading((at) => {
        if (at !== reading) return Promise.resolve();
        publications.push(bench.publish('a1', { step: 2, note: null }), bench.publish('a2', null));
        return Promise.resolve();
      });
      await bench.republish();
      await Promise.all(publications);
      expect(publications).toHaveLength(2);
      expect(bench.last().get('a1')).toMatchObject({ step: 2, note: null, snapshot: false });
      expect(bench.last().get('a2')).toBeNull();
      expect(new Set(notes(bench))).toEqual(new Set([null, undefined]));
    },
  );

  it('that fails at an event lets the tenant publish on', async () => {
    const bench = await eventsBench();
    publishedBefore(bench, 2);
    bench.beforeUndecodable('a3');
    await expect(bench.republish()).rejects.toThrow('undecodable');
    await bench.publish('a1', { step: 2, note: null });
    expect(bench.last().get('a1')).toMatchObject({ step: 2, note: null });
  });
});
