import { describe, expect, it } from 'vitest';
import { OutdatedEvents, type RedactedEvent } from '../../../src/pipeline/requests/outdated-events.ts';
import { redactBench } from './support/redact-bench.ts';

type Bench = Awaited<ReturnType<typeof redactBench>>;

function publishedBefore({ before }: Bench, count: number): void {
  for (let at = 0; at < count; at += 1) before({ key: `a${at}`, step: 1, note: 'private' });
}

const notes = ({ last }: Bench): (string | null | undefined)[] =>
  [...last().values()].map((each) => each?.note);

describe('republish absence-changes --redact', () => {
  it('replaces every event, however many transactions that takes', async () => {
    const bench = await redactBench();
    publishedBefore(bench, 25_000);
    expect(await bench.redact()).toBe(25_000);
    expect(bench.sizes()).toEqual([10_000, 10_000, 5_000]);
    expect(new Set(notes(bench))).toEqual(new Set([null]));
    expect(await bench.redact(true)).toBe(0);
  });

  it('publishes only the last event of an absence', async () => {
    const bench = await redactBench();
    for (const step of [1, 2, 3]) bench.before({ key: 'a1', step, note: 'private' });
    bench.before({ key: 'a2', step: 1, note: 'private' });
    bench.before({ key: 'a2', step: 2, note: null });
    expect(await bench.redact(true)).toBe(1);
    expect(await bench.redact()).toBe(1);
    expect([...bench.last().values()]).toEqual([
      { key: 'a2', step: 2, note: null },
      { key: 'a1', step: 3, note: null },
    ]);
  });

  it('keeps each batch within its limits of events and bytes', async () => {
    const bench = await redactBench();
    const { parts, signal } = bench.work;
    publishedBefore(bench, 10);
    if (parts.chains === undefined) throw new Error('no chains');
    const outdated = new OutdatedEvents({ tenant: parts, chains: parts.chains, signal });
    const batches = async (events: number, bytes: number): Promise<(readonly RedactedEvent[])[]> => {
      const all: (readonly RedactedEvent[])[] = [];
      for await (const batch of outdated.batches({ events, bytes })) all.push(batch);
      return all;
    };
    const sizes = async (events: number, bytes: number): Promise<number[]> => {
      const all = await batches(events, bytes);
      expect(new Set(all.flat().map(({ absenceId }) => absenceId)).size).toBe(10);
      return all.map(({ length }) => length);
    };
    await outdated.find();
    expect(await sizes(4, Infinity)).toEqual([4, 4, 2]);
    const [[event] = []] = await batches(1, Infinity);
    expect(await sizes(100, (event?.body.length ?? 0) * 3)).toEqual([3, 3, 3, 1]);
  });

  // The first reading finds the events, and each later one gives the next events to publish.
  it.each([1, 2])(
    'never publishes an event after a newer one that a sync publishes meanwhile (in reading %i)',
    async (reading) => {
      const bench = await redactBench();
      publishedBefore(bench, 4);
      const publications: Promise<unknown>[] = [];
      bench.atReading((at) => {
        if (at !== reading) return Promise.resolve();
        publications.push(bench.publish('a1', { step: 2, note: null }), bench.publish('a2', null));
        return Promise.resolve();
      });
      expect(await bench.redact()).toBe(2);
      await Promise.all(publications);
      expect(publications).toHaveLength(2);
      expect(bench.last().get('a1')).toEqual({ key: 'a1', step: 2, note: null });
      expect(bench.last().get('a2')).toBeNull();
      expect(new Set(notes(bench))).toEqual(new Set([null, undefined]));
    },
  );

  it.each([true, false])(
    'that fails at an event lets the tenant publish on (dry run: %s)',
    async (isDryRun) => {
      const bench = await redactBench();
      publishedBefore(bench, 2);
      bench.beforeUndecodable('a3');
      await expect(bench.redact(isDryRun)).rejects.toThrow('undecodable');
      await bench.publish('a1', { step: 2, note: null });
      expect(bench.last().get('a1')).toEqual({ key: 'a1', step: 2, note: null });
    },
  );
});
