import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { failureOf } from '../../../src/cli/check/finding.ts';
import { reportError } from '../../../src/cli/report-error.ts';
import type { HubEvent } from '../../../src/core/hub-events.ts';
import { createEventLog } from '../../../src/telemetry/log-events.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { boardOf } from '../telemetry/support/board-of.ts';
import { answer, exchange, inTurn, readAll, testHub, type Script } from './support/scripted-hub.ts';

/** A name, a token and an identity number, which a hub may put into anything that it sends. */
const CANARIES = ['kari-nordmann', 'eyjhbgcioi', '01017012345'];
const TEXT = CANARIES.join('.');
const WORDS = CANARIES.join(' ');

const HEADERS = {
  location: `https://${TEXT}.example/${TEXT}?${TEXT}`,
  link: `<https://${TEXT}.example/${TEXT}?${TEXT}>; rel="next"; title="${TEXT}"`,
  'www-authenticate': `Bearer realm="${TEXT}", error="${TEXT}", error_description="${TEXT}"`,
  'retry-after': TEXT,
  'x-total-count': TEXT,
  date: TEXT,
  'set-cookie': `session=${TEXT}`,
};

const field = (value: string) => ({ imsx_codeMinorFieldName: TEXT, imsx_codeMinorFieldValue: value });
const CODES = JSON.stringify({
  imsx_codeMajor: 'failure',
  imsx_severity: TEXT,
  imsx_description: WORDS,
  imsx_CodeMinor: { imsx_codeMinorField: [field('invalid_filter_field'), field(TEXT)] },
});
const OAUTH = JSON.stringify({
  error: 'invalid_token',
  error_description: WORDS,
  error_uri: TEXT,
  message: WORDS,
});
const BODIES: readonly (readonly [string, string?])[] = [
  [CODES],
  [JSON.stringify({ imsx_codeMajor: TEXT, imsx_codeMinor: WORDS })],
  [OAUTH],
  [JSON.stringify({ error: TEXT, [TEXT]: [TEXT] })],
  [`<!doctype html><title>${TEXT}</title>`, 'text/html'],
  [`<html>${TEXT}</html>`, `text/${TEXT}`],
  [`{"users":[{"sourcedId":"${TEXT}","givenName":"${TEXT}`],
  [WORDS, 'text/plain'],
  [JSON.stringify([WORDS])],
  [JSON.stringify({ users: WORDS, access_token: WORDS })],
];

const answers = (status: number): Script[] =>
  BODIES.map(([body, type = 'application/json']) =>
    answer(status, body, { ...HEADERS, 'content-type': type }),
  );

/** Gives all that a person or a program sees of errors: message, remedy, causes, JSON, log line, metrics, probe, finding of check. */
async function everySink(errors: readonly unknown[], hubEvents: readonly HubEvent[]): Promise<string> {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const world = boardOf(0);
  const log = createEventLog(createLogger({ level: 'trace', destination: { write } }));
  const show = (event: Parameters<typeof log>[1]): void => {
    world.emit(event);
    log('north', event, true);
  };
  for (const event of hubEvents) show({ type: 'hub', event });
  for (const error of errors) {
    const failed = { collection: 'users', error, durationMs: 1, mode: 'FULL' } as const;
    show({ type: 'sync-failed', ...failed, retryInMs: 1 });
    show({ type: 'not-offered', ...failed, isNews: true });
    show({ type: 'session-failed', error, retryInMs: 1 });
    const host = { stderr: { write, isTTY: false } as never, env: { ROLLCALL_DEBUG: '1' } };
    reportError(error, { host, stopped: false });
    lines.push(
      JSON.stringify([error, world.board.readiness().reasons, failureOf('users', error)]),
      inspect(error, { depth: 10, showHidden: true }),
    );
  }
  return [...lines, await world.registry.metrics()].join('\n');
}

function expectNoCanary(shown: string): void {
  for (const canary of CANARIES) expect(shown.toLowerCase()).not.toContain(canary);
}

const ONCE = { retry: { maxAttempts: 1 } };

// One of each way to take an answer.
it.each([200, 302, 400, 401, 403, 404, 409, 429, 500])(
  'free text that the hub sends with HTTP %i appears in no error, log line, metric or probe',
  async (status) => {
    for (const place of ['hub', 'token', 'schedules']) {
      let nowMs = 0;
      const tokenScript = place === 'token' ? { tokenScript: inTurn(...answers(status)) } : {};
      const tools = { ...ONCE, now: () => nowMs, breaker: { failures: 1_000 }, ...tokenScript };
      await using test = await testHub(inTurn(...answers(status)), tools);
      const asked = {
        student: 's',
        from: '2026-01-01',
        to: '2026-01-02',
        signal: new AbortController().signal,
      };
      const errors: unknown[] = [];
      for (const _ of BODIES) {
        nowMs += 3_600_000;
        const read = place === 'schedules' ? test.hub.readSchedule(asked) : readAll(test.hub, 'users');
        await read.catch((error: unknown) => errors.push(error));
      }
      // A list with free text is a list: other tests cover its rows.
      expect(errors.length).toBeGreaterThan(status === 200 ? 4 : BODIES.length - 1);
      expectNoCanary(await everySink(errors, test.events));
    }
  },
);

it.each([
  ['failure invalid_filter_field', CODES],
  ['invalid_token', OAUTH],
])('an error keeps standard codes beside free text of the hub: %s', async (codes, body) => {
  const { error } = await exchange([answer(400, body)]);
  expect(error).toMatchObject({ message: expect.stringContaining(codes) as string });
});

it('no error shows free text of an answer that is not HTTP', async () => {
  const garbage: Script = (_, response) => {
    response.socket?.end(`HTTP/1.1 200 OK\r\n${TEXT}\r\nX Y: ${TEXT}\r\n\r\n`);
  };
  const { error, events } = await exchange([garbage], ONCE);
  expect(error).toMatchObject({ code: 'HUB_UNREACHABLE' });
  expectNoCanary(await everySink([error], events));
});
