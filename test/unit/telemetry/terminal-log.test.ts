import picocolors from 'picocolors';
import { describe, expect, it } from 'vitest';
import { RollcallError } from '../../../src/errors.ts';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import { createEventLog } from '../../../src/telemetry/log-events.ts';
import { readableLine } from '../../../src/telemetry/terminal-log.ts';

/** What a terminal shows of an event, through the real log. */
function shown(event: PipelineEvent, colors = picocolors.createColors(false)): string {
  let text = '';
  const destination = { write: (line: string) => void (text += readableLine(line, colors)) };
  createEventLog(createLogger({ level: 'info', destination }))('north', event, true);
  return text;
}

const ended = {
  type: 'sync-ended',
  mode: 'FULL',
  collection: 'users',
  outcome: 'complete',
  why: null,
  short: null,
  durationMs: 2_345,
  rows: 7_501,
  rejects: 1,
  progress: null,
} as const;
const stats = newSyncStats({ syncId: 'p1', mode: 'FULL', startedAtMs: 0 });

describe('the log on a terminal', () => {
  it('tells a sync in one line, by its fields that have a value', () => {
    const absences = { ...stats.absences, created: 3 };
    const line = shown({ ...ended, stats: { ...stats, rowsSeen: 7_501, rowsCreated: 12, absences } });
    expect(line).toMatch(
      /^\d\d:\d\d:\d\d {2}north {2}users +a sync ended · outcome complete · durationMs 2345 · mode FULL · rowsSeen 7501 · rowsCreated 12 · absences \{"created":3\}\n$/,
    );
  });

  it('shows a failure with its remedy on the next line, in colour', () => {
    const error = new RollcallError('HUB_UNREACHABLE', 'The hub is away', { remedy: 'Check hub.baseUrl.' });
    const event = {
      type: 'sync-failed',
      collection: 'users',
      mode: 'INCREMENTAL',
      error,
      retryInMs: 5,
      durationMs: 1,
    } as const;
    const lines = shown(event, picocolors.createColors(true)).split('\n');
    expect(lines[0]).toContain('\u001B[33m! The hub is away');
    expect(lines[1]).toContain('→\u001B[39m Check hub.baseUrl.');
  });

  it('has no line for an index that needed nothing, and steers no terminal', () => {
    const ready = {
      type: 'caught-up',
      collection: 'users',
      why: '',
      rejects: 0,
      progress: null,
      contradictions: null,
    } as const;
    expect(shown({ ...ready, how: 'current', rows: 9 })).toBe('');
    expect(shown({ ...ready, how: 'rebuilt', rows: 9, why: 'Redis is empty' })).toContain(
      'why Redis is empty',
    );
    expect(readableLine('{"time":0,"level":"info","msg":"a\\u001b[2J"}')).not.toContain('\u001B');
  });
});
