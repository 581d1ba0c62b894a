import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { createHealth } from '../../../src/telemetry/reported-reasons.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { observePipeline } from '../../../src/telemetry/observe-pipeline.ts';

type Line = Readonly<Record<string, unknown>>;

function observed(...events: readonly PipelineEvent[]) {
  const lines: Line[] = [];
  const registry = new Registry();
  const observe = observePipeline({
    metrics: createMetrics(registry, { process: false }),
    health: createHealth(),
    logger: createLogger({
      level: 'debug',
      destination: { write: (line: string) => lines.push(JSON.parse(line) as Line) },
    }),
    now: () => 0,
  });
  for (const event of events) observe('north', event);
  return { lines, metrics: () => registry.metrics() };
}

const NOTHING = { created: 0, replaced: 0, deleted: 0, restored: 0, forgotten: 0, shown: 0, hidden: 0 };

function chainsPublished(
  tally: Partial<typeof NOTHING>,
  publishedOpen = 0,
  contradictions: number | null = null,
): PipelineEvent {
  return { type: 'chains-published', tally: { ...NOTHING, ...tally }, publishedOpen, contradictions };
}

function caughtUp(contradictions: number | null): PipelineEvent {
  return {
    type: 'caught-up',
    collection: 'absence-versions',
    how: 'current',
    why: '',
    rows: 10,
    rejects: 0,
    progress: null,
    contradictions,
  };
}

function syncEnded(
  collection: 'users' | 'absence-versions' | 'schedules',
  chains: Partial<typeof NOTHING> = {},
): PipelineEvent {
  const stats = newSyncStats({ passId: 'p1', mode: 'DELTA', startedAtMs: 0 });
  Object.assign(stats.chains, chains);
  return {
    type: 'pass-ended',
    collection,
    outcome: 'complete',
    why: null,
    short: null,
    stats,
    durationMs: 5,
    rows: 10,
    rejects: 0,
    progress: null,
  };
}

describe('ids that the hub lists twice', () => {
  it('are reported in one line for each collection, without an id', () => {
    const stats = { ...newSyncStats({ passId: 'p', mode: 'FULL', startedAtMs: 0 }), rowsRepeated: 2 };
    const ended = {
      type: 'pass-ended',
      outcome: 'complete',
      why: null,
      short: null,
      durationMs: 1,
      stats,
      rows: 1,
      rejects: 0,
      progress: null,
    } as const;
    const { lines } = observed(
      { ...ended, collection: 'users' },
      { ...ended, collection: 'users' },
      { ...ended, collection: 'orgs' },
    );
    const warned = lines.filter(({ msg }) => String(msg).includes('more than once'));
    expect(warned).toMatchObject([
      { collection: 'users', rowsRepeated: 2 },
      { collection: 'orgs', rowsRepeated: 2 },
    ]);
  });
});

describe('the report of published absences', () => {
  it('is counted once, and not again at the end of the sync', async () => {
    const { metrics } = observed(
      chainsPublished({ created: 2, deleted: 1, shown: 2 }),
      chainsPublished({ created: 1, restored: 1 }),
      syncEnded('absence-versions', { created: 3, deleted: 1, restored: 1, shown: 2 }),
    );
    const text = await metrics();
    const count = (operation: string): string =>
      `rollcall_absence_changes_total{tenant="north",operation="${operation}"}`;
    expect(text).toContain(`${count('created')} 3\n`);
    expect(text).toContain(`${count('deleted')} 1\n`);
    expect(text).toContain(`${count('restored')} 1\n`);
    expect(text).toContain(`${count('replaced')} 0\n`);
  });

  it('is a debug line for each transaction', () => {
    const { lines } = observed(chainsPublished({ created: 2, shown: 2 }));
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'debug',
        tenant: 'north',
        absences: { created: 2, shown: 2 },
        publishedOpen: 0,
      }),
    ]);
  });

  it('warns of absences that were published while open', async () => {
    const { lines, metrics } = observed(chainsPublished({ created: 4 }, 3));
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([
      expect.objectContaining({ tenant: 'north', publishedOpen: 3 }),
    ]);
    expect(await metrics()).toContain('rollcall_absences_published_open_total{tenant="north"} 3');
  });
});

describe('contradictions', () => {
  it('are known from the start, and kept by a transaction that does not check them', async () => {
    const { metrics } = observed(caughtUp(3), chainsPublished({ forgotten: 2 }));
    expect(await metrics()).toContain('rollcall_absence_contradictions{tenant="north"} 3\n');
  });

  it('that the hub has corrected are no longer counted', async () => {
    const { metrics } = observed(caughtUp(3), chainsPublished({}, 0, 1));
    expect(await metrics()).toContain('rollcall_absence_contradictions{tenant="north"} 1\n');
  });

  it('have no metric for a tenant whose absences are not mirrored', async () => {
    const { metrics } = observed(caughtUp(null));
    expect(await metrics()).not.toMatch(/^rollcall_absence.*north/m);
  });
});

describe('the line of a sync', () => {
  it('of absence versions shows the absences that followed', () => {
    const [line] = observed(syncEnded('absence-versions', { replaced: 2, shown: 2 })).lines;
    expect(line).toMatchObject({ level: 'info', absences: { replaced: 2, shown: 2 }, rowsSeen: 0 });
  });

  it('of any other collection has no fields of absences', () => {
    const [line = {}] = observed(syncEnded('users')).lines;
    expect(line['level']).toBe('debug');
    expect(Object.keys(line).filter((key) => ['absences', 'chains'].includes(key))).toEqual([]);
  });
});
