import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { checkHub } from '../../../src/cli/check/check-hub.ts';
import { findingsOf } from '../../../src/cli/check/finding.ts';
import { reportError } from '../../../src/cli/report-error.ts';
import type { HubEvent } from '../../../src/core/hub-events.ts';
import { createEventLog } from '../../../src/telemetry/log-events.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { load, yamlWith } from '../config/config-text.ts';
import { boardOf } from '../telemetry/support/board-of.ts';
import { readAll, sendJson, serve, testHub, type Script } from './support/scripted-hub.ts';

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

const field = (value: string) => ({
  imsx_codeMinorFieldName: TEXT,
  imsx_codeMinorFieldValue: value,
});
const BODIES: readonly (readonly [string, string, string?])[] = [
  [
    'a standard error body with free text',
    JSON.stringify({
      imsx_codeMajor: 'failure',
      imsx_severity: TEXT,
      imsx_description: WORDS,
      imsx_CodeMinor: { imsx_codeMinorField: [field('invalid_filter_field'), field(TEXT)] },
    }),
  ],
  ['codes that are free text', JSON.stringify({ imsx_codeMajor: TEXT, imsx_codeMinor: WORDS })],
  [
    'an OAuth error with free text',
    JSON.stringify({ error: 'invalid_token', error_description: WORDS, error_uri: TEXT, message: WORDS }),
  ],
  ['an OAuth error code that is free text', JSON.stringify({ error: TEXT, [TEXT]: [TEXT] })],
  ['HTML', `<!doctype html><title>${TEXT}</title>`, 'text/html'],
  ['HTML under a type that is free text', `<html>${TEXT}</html>`, `text/${TEXT}`],
  ['truncated JSON', `{"users":[{"sourcedId":"${TEXT}","givenName":"${TEXT}`],
  ['text', WORDS, 'text/plain'],
  ['a list of texts', JSON.stringify([WORDS])],
  ['a list that is no list', JSON.stringify({ users: WORDS, access_token: WORDS })],
];

const STATUSES = [
  200, 301, 302, 307, 308, 400, 401, 403, 404, 405, 408, 409, 410, 422, 429, 500, 502, 503, 504,
];

/** Gives all that a person or a program sees of an error: message, remedy, causes, JSON, log line, metrics, probe. */
async function everySink(error: unknown, events: readonly HubEvent[]): Promise<string> {
  const lines: string[] = [];
  const world = boardOf(0);
  const log = createEventLog(
    createLogger({ level: 'trace', destination: { write: (line: string) => lines.push(line) } }),
  );
  const failed = { collection: 'users', error, durationMs: 1 } as const;
  const all = [
    ...events.map((event) => ({ type: 'hub', event }) as const),
    { type: 'sync-failed', ...failed, mode: 'FULL', retryInMs: 1 },
    { type: 'not-offered', ...failed, mode: 'FULL', isNews: true },
    { type: 'session-failed', error, retryInMs: 1 },
  ] as const;
  for (const event of all) {
    world.emit(event);
    log('north', event, true);
  }
  const stderr = { write: (text: string) => void lines.push(text), isTTY: false } as never;
  reportError(error, { host: { stderr, env: { ROLLCALL_DEBUG: '1' } }, stopped: false });
  return [
    ...lines,
    JSON.stringify(error),
    inspect(error, { depth: 10, showHidden: true }),
    JSON.stringify(world.board.reasons()),
    await world.registry.metrics(),
  ].join('\n');
}

function expectNoCanary(shown: string): void {
  for (const canary of CANARIES) expect(shown.toLowerCase()).not.toContain(canary);
}

const answer =
  (status: number, body: string, type = 'application/json'): Script =>
  (_, response) =>
    sendJson(response, body, { status, headers: { ...HEADERS, 'content-type': type } });

const ONCE = { retry: { maxAttempts: 1 } };

describe('free text that the hub sends', () => {
  it.each(STATUSES)('with HTTP %i appears in no error, log line, metric or probe', async (status) => {
    let script: Script = () => undefined;
    let nowMs = 0;
    const options = { ...ONCE, now: () => nowMs, breaker: { failures: 1_000 } };
    await using hub = await testHub((...asked) => script(...asked), options);
    await using token = await testHub(() => undefined, {
      ...options,
      tokenScript: (...asked) => script(...asked),
    });
    for (const [, body, type] of BODIES) {
      script = answer(status, body, type);
      nowMs += 3_600_000;
      for (const test of [hub, token]) {
        const error: unknown = await readAll(test.hub, 'users').catch((failure: unknown) => failure);
        // A list with free text is a list: other tests cover its rows.
        expectNoCanary(await everySink(error instanceof Error ? error : null, test.events));
        const lessons = test.hub.readSchedule({
          student: 's',
          from: '2026-01-01',
          to: '2026-01-02',
          signal: new AbortController().signal,
        });
        const refused: unknown = await lessons.catch((failure: unknown) => failure);
        expectNoCanary(await everySink(refused instanceof Error ? refused : null, test.events));
      }
    }
  });

  it.each(STATUSES)('with HTTP %i appears in no finding of check', async (status) => {
    await using server = await serve((request, response) => {
      const [, body, type] = BODIES[server.asked.length % BODIES.length] ?? ['', ''];
      if (request.path === '/token') return sendJson(response, { access_token: 't' });
      return answer(status, body ?? '', type)(request, response);
    });
    await using tokenServer = await serve(answer(status, BODIES[status % BODIES.length]?.[1] ?? ''));
    for (const tokenUrl of [`${server.origin}/token`, `${tokenServer.origin}/token`]) {
      const hub = `baseUrl: "${server.origin}/x"\ntokenUrl: "${tokenUrl}"`;
      const yaml = yamlWith({ tenant: 'collections: [users, orgs, line-items, class-students]' });
      const [tenant] = load(
        yaml
          .replace('baseUrl: "https://hub.example/north/"', hub.split('\n')[0] ?? '')
          .replace('tokenUrl: "https://id.example/token"', hub.split('\n')[1] ?? ''),
      ).tenants;
      if (tenant === undefined) throw new Error('no tenant');
      const findings = () => checkHub(tenant, new AbortController().signal);
      expectNoCanary(JSON.stringify(await findingsOf({ title: '', findings })));
    }
  });

  it.each([
    ['invalid_filter_field', 400, BODIES[0]?.[1] ?? ''],
    ['invalid_token', 400, BODIES[2]?.[1] ?? ''],
  ])('leaves the standard’s code %s in the error', async (code, status, body) => {
    await using test = await testHub(answer(status, body), ONCE);
    await expect(readAll(test.hub, 'users')).rejects.toThrow(code);
  });

  it('in bytes that are not HTTP appears in no error', async () => {
    await using test = await testHub((_, response) => {
      response.socket?.end(`HTTP/1.1 200 OK\r\n${TEXT}\r\nX Y: ${TEXT}\r\n\r\n`);
    }, ONCE);
    const error: unknown = await readAll(test.hub, 'users').catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: 'HUB_UNREACHABLE' });
    expectNoCanary(await everySink(error, test.events));
  });
});
