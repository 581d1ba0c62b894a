import picocolors from 'picocolors';
import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import { RollcallError } from '../errors.ts';
import { safeError, safeErrorMessage, scrub } from './safe-error.ts';
import { readableLine } from './terminal-log.ts';

export type { Logger } from 'pino';

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

const REDACTED = '[redacted]';
const SECRET_KEY =
  /^((proxy)?[-_]?authorization|(set[-_]?)?cookie|((access|refresh)[-_]?)?token|password|passphrase|(client[-_]?)?secret|(private|api)[-_]?key)$/i;
/** The usual spellings, on the first two levels, for pino's own redaction. */
const SECRET_PATHS =
  'authorization Authorization token accessToken access_token password secret clientSecret client_secret cookie'
    .split(' ')
    .flatMap((key) => [key, `*.${key}`]);

/** Returns the level in ROLLCALL_LOG_LEVEL, by default `info`. Throws `CONFIG_INVALID`. */
export function logLevelFrom(env: Readonly<Record<string, string | undefined>>): LogLevel {
  const wanted = env['ROLLCALL_LOG_LEVEL'] ?? '';
  if (wanted === '') return 'info';
  const level = LOG_LEVELS.find((known) => known === wanted.toLowerCase());
  if (level !== undefined) return level;
  throw new RollcallError('CONFIG_INVALID', 'ROLLCALL_LOG_LEVEL is not a log level', {
    remedy: `Set it to one of ${LOG_LEVELS.join(', ')}, or leave it out.`,
  });
}

/**
 * Creates a logger of JSON lines. Redaction is the second safety net: no secret or row content should get here. What
 * does by mistake is removed by the name of its key, or as a credential in text.
 */
export function createLogger(options: { level: LogLevel; destination: DestinationStream }): Logger {
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      serializers: { err: withoutData },
      // The bindings of child loggers bypass the formatters, but not this.
      redact: { paths: SECRET_PATHS, censor: REDACTED },
      formatters: { level: (label) => ({ level: label }), log: (fields) => redactMap(fields) },
      hooks: {
        logMethod(parameters, method) {
          method.apply(this, scrubParameters(parameters) as typeof parameters);
        },
      },
    },
    options.destination,
  );
}

/** A stream for logs: JSON lines, or on a terminal lines for people. */
export function openLogDestination(
  stream: DestinationStream & { readonly fd?: number | undefined; readonly isTTY?: boolean | undefined },
  hasColors: boolean,
): DestinationStream {
  if (stream.fd === undefined) return stream;
  // Synchronous, so that no line is lost when the process ends; there are few lines.
  const destination = pino.destination({ fd: stream.fd, sync: true });
  // A reader that closes its end must not end the process.
  destination.on('error', () => {});
  if (stream.isTTY !== true) return destination;
  const colors = picocolors.createColors(hasColors);
  return { write: (line) => void destination.write(readableLine(line, colors)) };
}

const MAX_DEPTH = 6;
const MAX_ITEMS = 100;

function redactMap(map: object, depth = 0): Record<string, unknown> {
  const entries = Object.entries(map).slice(0, MAX_ITEMS);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, SECRET_KEY.test(key) ? REDACTED : redact(value, depth + 1)]),
  );
}

function redact(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return scrub(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return safeError(value);
  if (depth > MAX_DEPTH) return '[too deep]';
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => redact(item, depth + 1));
  return 'toJSON' in value ? value : redactMap(value, depth);
}

/** Sets a safe message for an error without one: pino would use the error's own message. */
function scrubParameters(parameters: readonly unknown[]): unknown[] {
  const [first, ...rest] = parameters;
  const error = first instanceof Error ? first : errorIn(first);
  if (error !== null && rest[0] === undefined) rest[0] = safeErrorMessage(error);
  return [first instanceof Error ? { err: first } : scrubText(first), ...rest.map(scrubText)];
}

function errorIn(fields: unknown): Error | null {
  if (typeof fields !== 'object' || fields === null || !('err' in fields)) return null;
  return fields.err instanceof Error ? fields.err : null;
}

/** Scrubs the values of a message. The formatter handles fields. */
function scrubText(value: unknown, index?: number): unknown {
  if (typeof value === 'string') return scrub(value);
  if (index === undefined) return value;
  return value instanceof Error ? safeErrorMessage(value) : redact(value, 1);
}

/** Serialises a value under the error key; the formatter may have made it safe already. */
function withoutData(value: unknown): unknown {
  return value instanceof Error || typeof value === 'string' ? safeError(value) : value;
}
