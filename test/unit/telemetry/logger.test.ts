import type { Logger } from 'pino';
import { expect, it } from 'vitest';
import { Secret } from '../../../src/config/redacted-secret.ts';
import { RollcallError } from '../../../src/errors.ts';
import { logLevelFrom } from '../../../src/telemetry/logger.ts';
import { capturedLog } from './support/captured-log.ts';

/** Gives what a logger writes: the text, and its first line parsed. */
function written(log: (logger: Logger) => void) {
  const { logger, lines, parsed } = capturedLog();
  log(logger);
  return { text: lines.join(''), line: parsed()[0] ?? {} };
}

it.each([
  ['a header', { headers: { Authorization: 'S3CRET' } }],
  ['a token far in', { a: { b: [{ access_token: 'S3CRET' }] } }],
  ['a client secret', { hub: { clientSecret: 'S3CRET', 'client-secret': 'S3CRET' } }],
  ['a wrapped secret', { value: new Secret('S3CRET') }],
  ['a bearer token in text', { note: 'sent Bearer S3CRET.abc-123 there' }],
  ['a password in an address', { url: 'redis://me:S3CRET@localhost:6379' }],
  ['a password in an error', { err: new RollcallError('INTERNAL', 'no redis://:S3CRET@h', { remedy: 'x' }) }],
  ['something deep', Array.from({ length: 10_000 }).reduce((value) => ({ value }), { token: 'S3CRET' })],
])('the log does not show %s', (_name, fields) => {
  const { text } = written((logger) => logger.info(fields, 'x'));
  expect(text).toContain('"msg":"x"');
  expect(text).not.toContain('S3CRET');
});

it('the log takes secrets out of messages, and shows all other fields', () => {
  const { text } = written((logger) => {
    logger.info('got Bearer S3CRET.abc');
    logger.info('at %s', 'http://me:S3CRET@h');
  });
  expect(text.split('\n')).toHaveLength(3);
  expect(text).not.toContain('S3CRET');
  const fields = { tokenUrl: 'https://id.example/token', key: 'users' };
  const { line } = written((logger) => logger.child({ tenant: 'north' }).warn(fields, 'a line'));
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string;
  expect(line).toEqual({ level: 'warn', time, tenant: 'north', ...fields, msg: 'a line' });
});

function caught(fail: () => unknown): unknown {
  try {
    fail();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

const errorLine = (error: unknown) => written((logger) => logger.error({ err: error })).line['err'];

it('an error of Rollcall is logged with code, message, remedy and cause, and without a stack', () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9092'), { code: 'ECONNREFUSED' });
  const error = new RollcallError('KAFKA_UNREACHABLE', 'No broker answers', { remedy: 'Start it.', cause });
  expect(errorLine(error)).toEqual({
    name: 'RollcallError',
    code: 'KAFKA_UNREACHABLE',
    message: 'No broker answers',
    remedy: 'Start it.',
    cause: expect.objectContaining({ code: 'ECONNREFUSED', message: 'connect ECONNREFUSED 127.0.0.1:9092' }),
  });
});

const named = (name: string, message: string, cause?: Error): Error =>
  Object.assign(new Error(message, { cause }), { name });
const quoting = [
  ['JSON that could not be parsed', caught(() => JSON.parse('{"name": "Kari Nordmann" oops}'))],
  ['a row that did not fit', new Error('invalid "string": Kari Nordmann')],
  ['a second line like a frame', new Error('first\n    at Kari Nordmann (/x:1:1)')],
  ['text that was thrown', 'Kari Nordmann'],
  ['a time zone that is none', caught(() => new Intl.DateTimeFormat('en', { timeZone: 'Kari' }))],
  ['an argument that Node refuses', caught(() => Buffer.alloc('Kari' as unknown as number))],
  ['a reply of Redis', named('ReplyError', 'ERR args: Kari')],
  ['a refused login at Kafka', named('KafkaJSSASLAuthenticationError', 'no user Kari')],
  ['an error that kafkajs wraps', named('KafkaJSNumberOfRetriesExceeded', 'no Kari', new Error('no Kari'))],
] as const;

it.each(quoting)('an error of a library is logged without content of rows: %s', (_name, error) => {
  const { text } = written((logger) => {
    logger.error({ err: error });
    if (!(error instanceof Error)) return;
    logger.error(error);
    logger.error('failed: %s', error);
  });
  expect(text.split('\n')).toHaveLength(error instanceof Error ? 4 : 2);
  expect(text).not.toContain('Kari');
});

it("an unforeseen error in Rollcall's own code is logged by class and place, without its message", () => {
  const error = caught(() => 'Anna' in ('Berg' as unknown as object));
  expect(JSON.stringify(errorLine(error))).not.toMatch(/Anna|Berg/);
  expect(errorLine(error)).toMatchObject({
    name: 'TypeError',
    message: expect.stringContaining('left out'),
    at: expect.arrayContaining([expect.stringContaining('logger.test.ts')]),
  });
});

it.each([
  ['Kafka', { name: 'KafkaJSProtocolError', frame: '/app/src/x.ts:1:1' }],
  ['the system', { code: 'ECONNRESET', frame: 'node:net:1:1' }],
  ['a library', { code: 'ERR_STREAM_PREMATURE_CLOSE', frame: '/app/node_modules/kafkajs/src/x.js:1:1' }],
])('an error of %s is logged without the internals of libraries', (_name, { frame, ...parts }) => {
  const cause = Object.assign(new Error('broken'), parts, {
    stack: `Error: broken\n    at send (${frame})`,
  });
  const error = new RollcallError('KAFKA_UNREACHABLE', 'No broker answers', { remedy: 'Start it.', cause });
  const logged = errorLine(error) as { cause: { message: string } };
  expect(logged.cause.message).toBe('broken');
  expect(logged.cause).not.toHaveProperty('at');
});

it('an error with a circular cause is logged', () => {
  const error = new DOMException('round', 'AbortError');
  Object.defineProperty(error, 'cause', { value: error });
  expect(errorLine(error)).toMatchObject({ cause: { cause: { message: 'round' } } });
});

it('the log level is info unless ROLLCALL_LOG_LEVEL names another, and an unknown level is refused', () => {
  const levels = [{}, { ROLLCALL_LOG_LEVEL: '' }, { ROLLCALL_LOG_LEVEL: 'DEBUG' }].map(logLevelFrom);
  expect(levels).toEqual(['info', 'info', 'debug']);
  expect(() => logLevelFrom({ ROLLCALL_LOG_LEVEL: 'loud' })).toThrow(RollcallError);
});
