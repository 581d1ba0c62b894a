import { describe, expect, it } from 'vitest';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { createEventLog } from '../../../src/telemetry/log-events.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';

type Line = Readonly<Record<string, unknown>>;

function logged(...events: readonly PipelineEvent[]): Line[] {
  const lines: Line[] = [];
  const destination = { write: (line: string) => lines.push(JSON.parse(line) as Line) };
  const log = createEventLog(createLogger({ level: 'debug', destination }));
  for (const event of events) log('north', event, true);
  return lines;
}

const NOTHING = { created: 0, replaced: 0, deleted: 0, restored: 0, forgotten: 0, shown: 0, hidden: 0 };

function chainsPublished(tally: Partial<typeof NOTHING>, publishedOpen = 0): PipelineEvent {
  return { type: 'absences-published', tally: { ...NOTHING, ...tally }, publishedOpen, contradictions: null };
}

function syncEnded(
  collection: 'users' | 'absence-versions' | 'schedules',
  absences: Partial<typeof NOTHING> = {},
): PipelineEvent {
  const stats = newSyncStats({ syncId: 'p1', mode: 'INCREMENTAL', startedAtMs: 0 });
  Object.assign(stats.absences, absences);
  return {
    type: 'sync-ended',
    mode: 'FULL',
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
    const stats = { ...newSyncStats({ syncId: 'p', mode: 'FULL', startedAtMs: 0 }), rowsRepeated: 2 };
    const ended = {
      type: 'sync-ended',
      mode: 'FULL',
      outcome: 'complete',
      why: null,
      short: null,
      durationMs: 1,
      stats,
      rows: 1,
      rejects: 0,
      progress: null,
    } as const;
    const lines = logged(
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
  it('is a debug line for each transaction', () => {
    const lines = logged(chainsPublished({ created: 2, shown: 2 }));
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'debug',
        tenant: 'north',
        absences: { created: 2, shown: 2 },
        publishedOpen: 0,
      }),
    ]);
  });

  it('warns of absences that were published while open', () => {
    const lines = logged(chainsPublished({ created: 4 }, 3));
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([
      expect.objectContaining({ tenant: 'north', publishedOpen: 3 }),
    ]);
  });
});

describe('the line of a sync', () => {
  it('of absence versions shows the absences that followed', () => {
    const [line] = logged(syncEnded('absence-versions', { replaced: 2, shown: 2 }));
    expect(line).toMatchObject({ level: 'info', absences: { replaced: 2, shown: 2 }, rowsSeen: 0 });
  });

  it('of any other collection has no fields of absences', () => {
    const [line = {}] = logged(syncEnded('users'));
    expect(line['level']).toBe('debug');
    expect(Object.keys(line).filter((key) => ['absences', 'chains'].includes(key))).toEqual([]);
  });
});
