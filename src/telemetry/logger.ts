import picocolors from 'picocolors';
import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import { RollcallError } from '../errors.ts';
import { safeError, safeErrorMessage, scrub } from './safe-error.ts';
import { readableLine } from './terminal-log.ts';

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

const REDACTED = '[redacted]';
const SECRET_KEY =
  /^((proxy)?[-_]?authorization|(set[-_]?)?cookie|((access|refresh)[-_]?)?token|password|passphrase|(client[-_]?)?secret|(private|api)[-_]?key)$/i;
/** Returns the level in ROLLCALL_LOG_LEVEL, by default `info`. Throws `CONFIG_INVALID`. */
export function logLevelFrom(env: Readonly<Record<string, string | undefined>>): LogLevel {
  const wanted = env['ROLLCALL_LOG_LEVEL'] ?? '';
  if (wanted === '') return 'info';
  const level = LOG_LEVELS.find((known) => known === wanted.toLowerCase());
  if (level !== undefined) return level;
  throw new RollcallError('CONFIG_INVALID', 'The value of ROLLCALL_LOG_LEVEL is not a log level', {
    remedy: `Set it to one of ${LOG_LEVELS.join(', ')}, or leave it out.`,
  });
}

/**
 * Creates a logger of JSON lines. Redaction is the second safety net, because no secret or row content should get here.
 * If one does by mistake, it is recognised by the name of its key, or as a credential in a text, and removed.
 */
export function createLogger(options: { level: LogLevel; destination: DestinationStream }): Logger {
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      // The hook `logMethod` has made the error safe already.
      serializers: { err: (error: unknown) => error },
      formatters: { level: (label) => ({ level: label }) },
      hooks: {
        logMethod(parameters, method) {
          method.apply(this, parameters.map(safeParameter) as typeof parameters);
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

/** `key`: of the field that has the value; empty for an item of a list. */
function redact(value: unknown, depth = 0, key = ''): unknown {
  if (SECRET_KEY.test(key)) return REDACTED;
  // A text that was thrown may quote data, too.
  if (typeof value === 'string') return key.startsWith('err') ? safeError(value) : scrub(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return safeError(value);
  if (depth > MAX_DEPTH) return '[too deep]';
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => redact(item, depth + 1));
  if ('toJSON' in value) return value;
  const fields = Object.entries(value).slice(0, MAX_ITEMS);
  return Object.fromEntries(fields.map(([name, each]) => [name, redact(each, depth + 1, name)]));
}

/**
 * An argument of a call that logs a line. The first argument has fields or is an error. (If no message follows, pino
 * takes the message of the error.) The message and its values follow.
 */
function safeParameter(value: unknown, index: number): unknown {
  if (!(value instanceof Error)) return redact(value);
  return index === 0 ? { err: safeError(value) } : safeErrorMessage(value);
}
