import { describe, expect, it } from 'vitest';
import { AskQueue } from '../../../../src/core/schedules/ask-queue.ts';

const MINUTE = 60_000;

/** Takes every student who may be asked at this time, and answers none of them. */
function take(queue: AskQueue, nowMs: number): string[] {
  const asked: string[] = [];
  for (;;) {
    const next = queue.next(nowMs);
    if (next.kind === 'wait') return asked;
    asked.push(next.student);
  }
}

function round(students: readonly string[], nowMs: number, endMs: number): AskQueue {
  const queue = new AskQueue();
  queue.beginRound({ students, nowMs, endMs });
  return queue;
}

describe('a sync', () => {
  it('asks for every student exactly once', () => {
    const queue = round(['a', 'b', 'c'], 0, 0);
    expect(take(queue, 0)).toEqual(['a', 'b', 'c']);
    expect(queue.unanswered).toBe(3);
    for (const student of ['a', 'b', 'c']) queue.answered(student);
    expect(queue.unanswered).toBe(0);
    expect(take(queue, 1e15)).toEqual([]);
  });

  it('spreads its questions over the time that it has', () => {
    const queue = round(['a', 'b', 'c', 'd'], 0, 40 * MINUTE);
    const askedAt: number[] = [];
    for (let nowMs = 0; nowMs <= 40 * MINUTE; nowMs += MINUTE) {
      for (const student of take(queue, nowMs)) {
        askedAt.push(nowMs / MINUTE);
        queue.answered(student);
      }
    }
    expect(askedAt).toEqual([0, 10, 20, 30]);
  });

  it('spreads the remaining questions over the remaining time after an outage', () => {
    const queue = round(['a', 'b', 'c', 'd'], 0, 40 * MINUTE);
    expect(take(queue, 0)).toEqual(['a']);
    queue.answered('a');
    queue.pauseUntil(31 * MINUTE);
    expect(queue.next(30 * MINUTE)).toEqual({ kind: 'wait', untilMs: 31 * MINUTE });
    const askedAt: number[] = [];
    for (let nowMs = 31 * MINUTE; nowMs <= 40 * MINUTE; nowMs += MINUTE) {
      for (const student of take(queue, nowMs)) {
        askedAt.push(nowMs / MINUTE);
        queue.answered(student);
      }
    }
    expect(askedAt).toEqual([31, 34, 37]);
  });

  it('is not over while an answer is missing', () => {
    const queue = round(['a', 'b'], 0, 0);
    take(queue, 0);
    queue.answered('a');
    queue.failed('b', 5 * MINUTE);
    expect(queue.unanswered).toBe(1);
    expect(queue.next(0)).toEqual({ kind: 'wait', untilMs: 5 * MINUTE });
    expect(take(queue, 5 * MINUTE)).toEqual(['b']);
    queue.answered('b');
    expect(queue.unanswered).toBe(0);
  });

  it('that begins while another is under way asks for a student again who is being asked, and for no other one twice', () => {
    const queue = round(['a', 'b'], 0, 0);
    take(queue, 0);
    queue.beginRound({ students: ['b', 'c'], nowMs: 1, endMs: 1 });
    expect(take(queue, 1)).toEqual(['c']);
    queue.answered('b');
    expect(take(queue, 1)).toEqual(['b']);
  });

  it('that begins drops the students who are no longer wanted', () => {
    const queue = round(['a'], 0, 0);
    take(queue, 0);
    queue.failed('a', 10);
    queue.beginRound({ students: ['b'], nowMs: 1, endMs: 1 });
    expect(take(queue, 20)).toEqual(['b']);
  });
});

describe('a student whose absence changed', () => {
  it('is asked for at once, and not a second time in the sync', () => {
    const queue = round(['a', 'b', 'c'], 0, 30 * MINUTE);
    expect(take(queue, 0)).toEqual(['a']);
    queue.change('c');
    expect(queue.next(1)).toEqual({ kind: 'ask', student: 'c', reason: 'change' });
    queue.answered('a');
    queue.answered('c');
    expect(queue.unanswered).toBe(1);
    expect(take(queue, 30 * MINUTE)).toEqual(['b']);
  });

  it('and changes again during the request is asked for again after the answer', () => {
    const queue = new AskQueue();
    queue.change('a');
    expect(take(queue, 0)).toEqual(['a']);
    queue.change('a');
    queue.change('a');
    expect(take(queue, 0)).toEqual([]);
    queue.answered('a');
    expect(take(queue, 0)).toEqual(['a']);
    queue.answered('a');
    expect(take(queue, 0)).toEqual([]);
  });

  it('is asked for before those whose turn it is, but not during a pause', () => {
    const queue = round(['a', 'b'], 0, 0);
    queue.askAgain('x', { atMs: 0, isOwed: false });
    queue.change('z');
    queue.pauseUntil(10);
    expect(take(queue, 9)).toEqual([]);
    expect(take(queue, 10)).toEqual(['z', 'x', 'a', 'b']);
  });
});

describe('students who fail', () => {
  it('alternate with the students who wait for their turn', () => {
    const queue = round(['a', 'b', 'c', 'd', 'e'], 0, 0);
    const order: string[] = [];
    for (let nowMs = 0; nowMs < 12; nowMs += 1) {
      const next = queue.next(nowMs);
      if (next.kind === 'wait') break;
      order.push(next.student);
      if (next.student < 'c') queue.failed(next.student, nowMs);
      else queue.answered(next.student);
    }
    expect(order.slice(0, 8)).toEqual(['a', 'a', 'b', 'a', 'c', 'b', 'd', 'a']);
  });

  it('are asked again in the order of their times, and once for a time that was moved', () => {
    const queue = new AskQueue();
    for (const [student, atMs] of [
      ['a', 30],
      ['b', 10],
      ['c', 20],
      ['a', 5],
      ['b', 40],
    ] as const) {
      queue.askAgain(student, { atMs, isOwed: false });
    }
    expect(take(queue, 4)).toEqual([]);
    expect(queue.next(4)).toEqual({ kind: 'wait', untilMs: 5 });
    expect(take(queue, 100)).toEqual(['a', 'c', 'b']);
  });
});

describe('a second answer', () => {
  it('is asked for at its time, and delays the end of a sync only if the sync needs it', () => {
    const queue = round(['a'], 0, 0);
    take(queue, 0);
    queue.answered('a');
    queue.askAgain('a', { atMs: 5 * MINUTE, isOwed: false });
    expect(queue.unanswered).toBe(0);
    expect(queue.next(0)).toEqual({ kind: 'wait', untilMs: 5 * MINUTE });
    queue.askAgain('a', { atMs: 0, isOwed: true });
    expect(queue.unanswered).toBe(1);
    expect(take(queue, 0)).toEqual(['a']);
    queue.answered('a');
    expect(queue.unanswered).toBe(0);
  });
});
