import { describe, expect, it } from 'vitest';
import { roundDue } from '../../../../src/core/schedules/round-time.ts';

const at = (text: string): number => Date.parse(text);
const FULL_PULL = { at: '04:00', timeZone: 'Europe/Oslo' };

function due(now: string, last: { due?: string; complete?: string } = {}): unknown {
  const plan = roundDue({
    fullPull: FULL_PULL,
    nowMs: at(now),
    lastDueMs: last.due === undefined ? null : at(last.due),
    lastCompleteMs: last.complete === undefined ? null : at(last.complete),
  });
  if (plan === null) return null;
  const { dueMs, endMs } = plan;
  return [new Date(dueMs).toISOString(), endMs === at(now) ? 'at once' : new Date(endMs).toISOString()];
}

/** A sync ends an hour before the next one begins, which leaves time to ask for some students once more. */
describe('when a schedule sync begins', () => {
  it('the first load begins at once and is not spread', () => {
    expect(due('2026-11-20T12:00:00Z')).toEqual(['2026-11-20T03:00:00.000Z', 'at once']);
  });

  it('a sync begins once, at its time', () => {
    const last = { due: '2026-11-20T03:00:00Z', complete: '2026-11-19T03:00:00Z' };
    expect(due('2026-11-20T12:00:00Z', last)).toBeNull();
    expect(due('2026-11-21T02:59:59Z', last)).toBeNull();
    expect(due('2026-11-21T03:00:01Z', { ...last, complete: '2026-11-20T03:00:00Z' })).toEqual([
      '2026-11-21T03:00:00.000Z',
      '2026-11-22T02:00:00.000Z',
    ]);
  });

  it('a restart does not repeat a complete sync, and continues with the rest of an incomplete one', () => {
    expect(due('2026-11-20T12:00:00Z', { complete: '2026-11-20T03:00:05Z' })).toBeNull();
    expect(due('2026-11-20T12:00:00Z', { complete: '2026-11-19T03:00:05Z' })).toEqual([
      '2026-11-20T03:00:00.000Z',
      '2026-11-21T02:00:00.000Z',
    ]);
  });

  it('after days without a sync, one begins at once and is not spread', () => {
    expect(due('2026-11-20T12:00:00Z', { complete: '2026-11-17T03:00:05Z' })).toEqual([
      '2026-11-20T03:00:00.000Z',
      'at once',
    ]);
  });

  it('the end follows the days on which the clock changes', () => {
    expect(
      due('2026-03-28T04:00:00Z', { due: '2026-03-27T03:00:00Z', complete: '2026-03-27T03:00:00Z' }),
    ).toEqual(['2026-03-28T03:00:00.000Z', '2026-03-29T01:00:00.000Z']);
    expect(
      due('2026-10-24T04:00:00Z', { due: '2026-10-23T02:00:00Z', complete: '2026-10-23T02:00:00Z' }),
    ).toEqual(['2026-10-24T02:00:00.000Z', '2026-10-25T02:00:00.000Z']);
  });
});
