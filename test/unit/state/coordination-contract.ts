import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { RollcallError } from '../../../src/errors.ts';
import { askOwner, type AskOwnerOptions } from '../../../src/state/ask-owner.ts';
import type { Coordination, OwnerRequest } from '../../../src/state/coordination.ts';
import type { StateStore } from '../../../src/state/index-store.ts';
import { serveRequests } from '../../../src/state/serve-requests.ts';

const sleep = (ms: number, signal: AbortSignal): Promise<void> => delay(ms, undefined, { signal });

/** Describes what the processes of one tenant may rely on, for every store. */
export function describeCoordination({
  name,
  open,
}: {
  readonly name: string;
  readonly open: () => Promise<StateStore>;
}): void {
  describe(`${name}: coordination`, () => {
    async function setUp(): Promise<{ coordination: Coordination; tenantId: string }> {
      const store = await open();
      onTestFinished(() => store.close());
      return { coordination: store.coordination, tenantId: `t-${randomUUID()}` };
    }

    const facts = { version: '7', health: '{}' };
    const sign = (owner: string, ownedSinceMs = 1_700_000_000_000) => ({ owner, ownedSinceMs, info: facts });
    const request = (parameters: Record<string, unknown> = {}) => ({
      id: randomUUID(),
      kind: 'pull',
      parameters,
    });

    /** The heartbeat, with the facts of `sign`. */
    async function livingOwner(coordination: Coordination, tenantId: string) {
      return (await coordination.livingOwners([tenantId], ['version', 'health']))[0];
    }

    /** Serves as the owner `me` until disposed of, and asks as a command does. */
    async function serving(handle: Parameters<typeof serveRequests>[0]['handle']) {
      const { coordination, tenantId } = await setUp();
      await coordination.announce(tenantId, sign('me'), 60_000);
      const stop = new AbortController();
      const common = { coordination, tenantId, signal: stop.signal, sleep, pollIntervalMs: 5 };
      const served = serveRequests({ ...common, owner: 'me', handle });
      return {
        coordination,
        tenantId,
        ask: (sent: OwnerRequest, onProgress?: (progress: unknown) => void) =>
          askOwner({ ...common, now: () => performance.now(), request: sent, onProgress }),
        async [Symbol.asyncDispose]() {
          stop.abort();
          await served;
        },
      };
    }

    it('the heartbeat of an older owner does not replace that of a newer one', async () => {
      const { coordination, tenantId } = await setUp();
      const announce = (owner: string, sinceMs: number) =>
        coordination.announce(tenantId, sign(owner, sinceMs), 60_000);
      expect(await livingOwner(coordination, tenantId)).toBeNull();
      expect([await announce('old', 1_000), await announce('new', 2_000)]).toEqual([true, true]);
      expect(await announce('old', 1_000)).toBe(false);
      await coordination.withdraw(tenantId, 'old');
      expect(await livingOwner(coordination, tenantId)).toEqual(sign('new', 2_000));
      expect(await announce('new', 2_000)).toBe(true);
      await coordination.withdraw(tenantId, 'new');
      expect(await livingOwner(coordination, tenantId)).toBeNull();
    });

    it('the heartbeats of many tenants are read at once and in their order', async () => {
      const { coordination, tenantId } = await setUp();
      const ids = Array.from({ length: 500 }, (_, at) => `${tenantId}-${at}`);
      const [first = '', second = ''] = ids;
      const mirrored = ids.filter((_, at) => at % 2 === 0);
      await Promise.all(mirrored.map((id) => coordination.announce(id, sign(id), 60_000)));
      const info = { version: facts.version };
      expect(await coordination.livingOwners(ids, ['version', 'unknown'])).toEqual(
        ids.map((id, at) => (at % 2 === 0 ? Object.assign(sign(id), { info }) : null)),
      );
      const silent = { ...sign(first), info: {} };
      await coordination.announce(first, silent, 60_000);
      expect(await coordination.livingOwners([second, first], ['version'])).toEqual([null, silent]);
    });

    it('an owner without a heartbeat stops being the living owner', async () => {
      const { coordination, tenantId } = await setUp();
      await coordination.announce(tenantId, sign('silent', 2_000), 30);
      await vi.waitFor(async () => expect(await livingOwner(coordination, tenantId)).toBeNull());
      expect(await coordination.announce(tenantId, sign('clock behind', 1_000), 60_000)).toBe(true);
    });

    it('a request is taken once, the oldest first, and never if its command gave up', async () => {
      const { coordination, tenantId } = await setUp();
      const first = request({ collections: ['users'], full: true, __proto__x: 'å' });
      const [gaveUp, second] = [request(), request()];
      for (const each of [first, gaveUp, second]) await coordination.leave(tenantId, each);
      await coordination.cancel(tenantId, gaveUp);
      expect(await coordination.take(`${tenantId}-other`, 'me')).toBeNull();
      expect(await coordination.answerTo(tenantId, first.id)).toBeNull();
      expect(await coordination.take(tenantId, 'me')).toEqual(first);
      const taken = { state: 'taken', owner: 'me', progress: null };
      expect(await coordination.answerTo(tenantId, first.id)).toEqual(taken);
      expect(await coordination.take(tenantId, 'me')).toEqual(second);
      expect(await coordination.take(tenantId, 'me')).toBeNull();
    });

    it('progress and result of a request reach the command that sent it', async () => {
      const seen: unknown[] = [];
      await using owner = await serving(async ({ parameters }, report) => {
        await report({ rowsSeen: 1 });
        await vi.waitFor(() => expect(seen).toEqual([{ rowsSeen: 1 }]));
        return parameters;
      });
      const outcome = await owner.ask(request({ full: true }), (progress) => seen.push(progress));
      expect(outcome).toMatchObject({ state: 'done', result: { full: true } });
    });

    it('a failed request is answered with its remedy, and an unforeseen failure without text', async () => {
      const known = { code: 'HUB_FORBIDDEN', message: 'the hub refuses', remedy: 'Ask for rights.' } as const;
      const failures = [
        new RollcallError(known.code, known.message, known),
        new Error('a name out of a row'),
      ];
      const reports: ((progress: unknown) => Promise<void>)[] = [];
      await using owner = await serving(async (_, report) => {
        reports.push(report);
        throw failures.shift() ?? new Error('asked too often');
      });
      const { coordination, tenantId } = owner;
      const sent = request();
      expect(await owner.ask(sent)).toMatchObject({ state: 'failed', ...known });
      const surprise = await owner.ask(request());
      expect(surprise).toMatchObject({ state: 'failed', code: 'INTERNAL' });
      expect(JSON.stringify(surprise)).not.toContain('name out of a row');
      await reports[0]?.({ done: 1 });
      expect(await coordination.answerTo(tenantId, sent.id)).toMatchObject({ state: 'failed' });
    });

    it('a command does not wait for an owner that is gone, and leaves no request behind', async () => {
      const { coordination, tenantId } = await setUp();
      const ask = (options: Partial<AskOwnerOptions> = {}) => {
        const common = { coordination, tenantId, sleep, now: () => performance.now(), pollIntervalMs: 5 };
        const asked = askOwner({
          ...common,
          request: request(),
          signal: new AbortController().signal,
          ...options,
        });
        return asked.catch((error: unknown) => error);
      };
      const lost = expect.objectContaining({ code: 'OWNERSHIP_LOST' });
      expect(await ask()).toEqual(lost);

      await coordination.announce(tenantId, sign('first'), 60_000);
      const takenFromFirst = ask();
      await vi.waitFor(async () => expect(await coordination.take(tenantId, 'first')).not.toBeNull());
      await coordination.announce(tenantId, sign('second', 1_700_000_000_001), 60_000);
      expect(await takenFromFirst).toEqual(lost);

      const silent = ask();
      await coordination.withdraw(tenantId, 'second');
      expect(await silent).toEqual(lost);

      await coordination.announce(tenantId, sign('busy'), 60_000);
      let nowMs = 0;
      const clock = { now: () => nowMs, sleep: async (ms: number) => void (nowMs += 1_000 * ms) };
      expect(await ask(clock)).toMatchObject({ code: 'OWNER_BUSY' });
      expect(nowMs).toBeGreaterThan(600_000);
      expect(await ask({ signal: AbortSignal.timeout(30) })).toMatchObject({ name: 'AbortError' });
      expect(await coordination.take(tenantId, 'busy')).toBeNull();
    });
  });
}
