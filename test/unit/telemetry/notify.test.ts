import { once } from 'node:events';
import { mkdtemp, readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { notify, tryReceiver } from '../../../src/telemetry/notify.ts';
import { makeCertificates } from '../../integration/security/support/certificates.ts';
import { load, yamlWith } from '../config/config-text.ts';
import { answer, inTurn, serve, type Script } from '../hub/support/scripted-hub.ts';
import { boardOf, caughtUp, onHoldIn } from './support/board-of.ts';
import { capturedLog } from './support/captured-log.ts';

const WITHIN = { timeout: 30_000, interval: 20 } as const;

interface Message {
  readonly text: string;
  readonly states: readonly { readonly id: string; readonly status: string }[];
}

/** Lets a process with rows on hold tell a receiver. */
async function tell(script: Script, answerWithinMs?: number) {
  const receiver = await serve(script);
  const world = boardOf(Date.now());
  const ending = new AbortController();
  const { logger, lines: said, messages: logged } = capturedLog();
  const root = `notify: { url: "${receiver.origin}/hook-secret?sig=x", token: bearer-secret, after: 1s }`;
  const ended = notify(load(yamlWith({ root })), {
    board: world.board,
    metrics: world.registry,
    logger,
    signal: ending.signal,
    ...(answerWithinMs === undefined ? {} : { answerWithinMs }),
    // Pauses after failures are cut short.
    sleep: (ms) => delay(Math.min(ms, 50), undefined, { signal: ending.signal }),
  });
  const hold = (rows: number, onHoldSinceMs: number | null): void =>
    world.emit(caughtUp('users', onHoldIn('users', rows, { nowMs: Date.now(), onHoldSinceMs })));
  world.isWell();
  hold(7, Date.now());
  const stop = async (): Promise<void> => {
    ending.abort();
    await ended;
  };
  return {
    board: world.board,
    asked: receiver.asked,
    said,
    logged,
    hold,
    stop,
    messages: () => receiver.asked.map(({ body }) => JSON.parse(body) as Message),
    async count(outcome: string): Promise<number> {
      const [, value] = (await world.registry.metrics()).split(
        `rollcall_notifications_total{outcome="${outcome}"} `,
      );
      return Number.parseInt(value ?? '', 10);
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await receiver[Symbol.asyncDispose]();
    },
  };
}

it('a notice of a hold is posted as JSON with commands and token, and its end under the same id', async () => {
  await using told = await tell(answer(200));
  await vi.waitFor(() => expect(told.asked).toHaveLength(1), WITHIN);
  told.hold(0, null);
  await vi.waitFor(() => expect(told.asked).toHaveLength(2), WITHIN);
  const path = '/hook-secret';
  expect(told.asked[0]).toMatchObject({ method: 'POST', path, authorization: 'Bearer bearer-secret' });
  const [first, second] = told.messages();
  expect(first?.text).toMatch(
    /^Rollcall, north: 7 rows are on hold in users, for \d+ s\n→ .*\n.* deletes list /,
  );
  expect([first, second].map((each) => each?.states)).toMatchObject(
    ['begun', 'over'].map((status) => [{ id: 'rollcall/north/ROWS_ON_HOLD', status }]),
  );
});

it.each<[string, Script]>([
  ['answers 503', answer(503)],
  ['redirects', answer(302, {}, { location: 'http://127.0.0.1:1/' })],
  ['breaks the connection', (_, response) => void response.destroy()],
])('a receiver of notices that %s is asked again, and logged once', async (_, fails) => {
  await using told = await tell(inTurn(fails, fails, fails, answer(204)));
  await vi.waitFor(async () => expect(await told.count('sent')).toBe(1), WITHIN);
  expect([await told.count('failed'), new Set(told.asked.map(({ body }) => body.slice(0, 40))).size]).toEqual(
    [3, 1],
  );
  expect(told.logged()).toEqual([
    expect.stringMatching(/^the receiver of notify\.url accepts no messages: it /),
    'the receiver of notify.url accepts messages again',
  ]);
  expect(told.said.join('')).not.toMatch(/secret|sig=x|127\.0\.0\.1/);
});

it.each([
  [503, 'Make the receiver answer'],
  [403, 'Check notify.url and notify.token'],
  [429, 'the receiver accepts no more messages for now'],
])(
  'the remedy for a receiver of notices that answers %i says what is to be looked at',
  async (status, remedy) => {
    await using told = await tell(answer(status));
    await vi.waitFor(() => expect(told.said).toHaveLength(1), WITHIN);
    expect(told.said[0]).toContain(remedy);
  },
);

it('a receiver of notices with which no TLS connection comes about gets a remedy for its cause', async () => {
  const { server } = await makeCertificates(await mkdtemp(join(tmpdir(), 'rollcall-notify-')));
  await using plain = await serve(answer(200));
  const secure = createServer({ cert: await readFile(server.cert), key: await readFile(server.key) });
  await once(secure.listen(0, '127.0.0.1'), 'listening');
  const { port } = secure.address() as AddressInfo;
  const remedyAt = async (url: string) => {
    const { notify: settings } = load(yamlWith({ root: `notify: { url: "${url}" }` }));
    return settings && (await tryReceiver(settings, 'rollcall'))?.remedy;
  };
  expect(await remedyAt(`https://127.0.0.1:${port}/hook`)).toContain('set NODE_EXTRA_CA_CERTS');
  expect(await remedyAt(plain.origin.replace('http:', 'https:'))).toContain('begin with http:// or https://');
  secure.close();
});

it('a receiver of notices that hangs is given up after some seconds, and gets one notice at a time', async () => {
  const open: ServerResponse[] = [];
  await using told = await tell((_, response) => void open.push(response), 500);
  await vi.waitFor(() => expect(told.asked).toHaveLength(2), WITHIN);
  expect([await told.count('failed'), told.said.join('')]).toEqual([
    1,
    expect.stringContaining('it does not answer within 0.5 s'),
  ]);
  expect(open.filter(({ destroyed }) => !destroyed)).toHaveLength(1);
  await told.stop();
});

it('a receiver of notices whose answer never ends counts as having taken the notice', async () => {
  await using told = await tell((_, response) => void response.writeHead(200).write('o'));
  await vi.waitFor(async () => expect(await told.count('sent')).toBe(1), WITHIN);
  expect(told.asked).toHaveLength(1);
});

it('a process that ends because nothing else helps sends a notice that says why at once', async () => {
  await using told = await tell(answer(200));
  told.board.stop('Topics differ (KAFKA_TOPIC_MISMATCH)');
  await told.stop();
  const why = expect.stringMatching(
    /^Rollcall, the process: Topics differ \(KAFKA_TOPIC_MISMATCH\)/,
  ) as string;
  expect(told.messages()).toMatchObject([{ text: why }]);
});
