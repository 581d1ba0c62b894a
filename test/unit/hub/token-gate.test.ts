import { describe, expect, it } from 'vitest';
import { HubError } from '../../../src/hub/hub-error.ts';
import { TokenGate } from '../../../src/hub/token-gate.ts';
import { collectionNamed, ROW_COLLECTIONS } from '../../../src/model/collections.ts';
import { answer, inTurn, readAll, sendJson, testHub, type Script } from './support/scripted-hub.ts';

const page: Script = (_, response) => sendJson(response, [], { headers: { link: '<x>; rel="first"' } });
const TOP_LEVEL = ROW_COLLECTIONS.filter((name) => !collectionNamed(name).path.includes('{id}'));

/** Makes a clock that moves to the next wake-up once all running scans sleep. */
function sleepersClock(scans: number) {
  let nowMs = 0;
  let awake = scans;
  const sleepers: { untilMs: number; wake: () => void }[] = [];
  const rest = (): void => {
    awake -= 1;
    if (awake > 0 || sleepers.length === 0) return;
    nowMs = Math.min(...sleepers.map(({ untilMs }) => untilMs));
    const at = sleepers.findIndex(({ untilMs }) => untilMs === nowMs);
    awake += 1;
    sleepers.splice(at, 1)[0]?.wake();
  };
  return {
    now: () => nowMs,
    ended: rest,
    sleep: async (ms: number) => {
      await new Promise<void>((wake) => {
        sleepers.push({ untilMs: nowMs + ms, wake });
        rest();
      });
    },
  };
}

const unclear = (status: number): HubError =>
  new HubError('HUB_TOKEN_UNAVAILABLE', 'No token', { remedy: 'Look.', status });

describe('a token endpoint that gives no token', () => {
  it.each([
    [401, { message: 'Bad credentials' }],
    [403, {}],
    [400, { error: 'bad_client' }],
    [503, {}],
  ])('is asked by one attempt for all collections, whatever it answers: %i', async (status, body) => {
    let drawn = 0;
    const clock = sleepersClock(TOP_LEVEL.length);
    await using test = await testHub(page, {
      now: clock.now,
      sleep: clock.sleep,
      random: () => (drawn++ * 0.618) % 1,
      tokenScript: answer(status, body),
    });
    const failures = await Promise.all(
      TOP_LEVEL.map(async (name) => {
        const error: unknown = await readAll(test.hub, name).catch((failure: unknown) => failure);
        clock.ended();
        return error;
      }),
    );
    expect(failures.length).toBeGreaterThan(10);
    for (const error of failures) expect(error).toMatchObject({ code: 'HUB_TOKEN_UNAVAILABLE', status });
    expect(clock.now()).toBeGreaterThan(15_000);
    expect(test.tokens().length).toBeGreaterThan(3);
    expect(test.tokens().length).toBeLessThan(10);
  });

  it('sets its Retry-After for every collection', async () => {
    let nowMs = 0;
    const tokenScript = answer(503, {}, { 'retry-after': '20' });
    await using test = await testHub(page, { now: () => nowMs, retry: { maxAttempts: 1 }, tokenScript });
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({ retryAfterMs: 20_000 });
    nowMs = 19_000;
    await expect(readAll(test.hub, 'orgs')).rejects.toMatchObject({ retryAfterMs: 1_000 });
    expect(test.tokens()).toHaveLength(1);
    nowMs = 20_000;
    await expect(readAll(test.hub, 'orgs')).rejects.toMatchObject({ retryAfterMs: 20_000 });
    expect(test.tokens()).toHaveLength(2);
  });

  it.each([408, 504])('makes no page smaller by its time-outs: %i', async (status) => {
    const late = answer(status);
    const tokenScript = inTurn(late, late, late, answer(200, { access_token: 't' }));
    await using test = await testHub(page, { pageSize: 400, tokenScript });
    await readAll(test.hub, 'users');
    expect(test.data().map(({ query }) => query.get('limit'))).toEqual(['400']);
    expect(test.events.filter(({ type }) => type === 'hub-differs')).toEqual([]);
  });

  it('does not stop requests for more than five minutes, whatever its Retry-After', () => {
    const gate = new TokenGate(() => 0);
    const asked = { remedy: 'Look.', status: 503, retryAfterMs: 31_536_000_000 };
    expect(gate.shut(new HubError('HUB_TOKEN_UNAVAILABLE', 'No token', asked)).retryAfterMs).toBe(300_000);
  });
});

describe('the wait after failures of the token endpoint in a row', () => {
  it.each([401, 503])('is short at first, grows, and starts again after a token: %i', (status) => {
    const gate = new TokenGate(() => 0);
    const waits = (): (number | null)[] => [1, 2, 3].map(() => gate.shut(unclear(status)).retryAfterMs);
    expect(waits()).toEqual([500, 1000, 2000]);
    gate.open();
    expect(waits()).toEqual([500, 1000, 2000]);
  });

  it.each([
    [503, 60_000],
    [401, 600_000],
    [400, 600_000],
  ])('has an upper limit: %i', (status, longestMs) => {
    const gate = new TokenGate(() => 0);
    for (let failure = 0; failure < 30; failure += 1) gate.shut(unclear(status));
    expect(gate.shut(unclear(status)).retryAfterMs).toBe(longestMs);
  });

  it('belongs to the request while it is short, and to the sync once it is long', () => {
    const gate = new TokenGate(() => 0);
    const failures = Array.from({ length: 8 }, () => gate.shut(unclear(401)));
    expect(failures.map(({ retryable }) => retryable)).toEqual([...Array(6).fill(true), false, false]);
    expect(() => gate.requireOpen()).toThrow(expect.objectContaining({ retryable: false }) as Error);
  });

  it('ends when the clock is set back', () => {
    let nowMs = 86_400_000;
    const gate = new TokenGate(() => nowMs);
    gate.shut(unclear(401));
    expect(() => gate.requireOpen()).toThrow('No token');
    nowMs = 0;
    expect(() => gate.requireOpen()).not.toThrow();
  });
});
