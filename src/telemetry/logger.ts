import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import { RollcallError } from '../errors.ts';
import { safeError, safeErrorMessage, scrub } from './safe-error.ts';

export type { Logger } from 'pino';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LEVELS)[number];

const REDACTED = '[redacted]';
const SECRET_KEYS = new Set([
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
  'token',
  'accesstoken',
  'refreshtoken',
  'password',
  'passphrase',
  'secret',
  'clientsecret',
  'privatekey',
  'apikey',
]);
/** The same in the usual spellings, on the first two levels: what pino can redact by itself. */
const SECRET_PATHS = [
  'authorization',
  'Authorization',
  'token',
  'accessToken',
  'access_token',
  'password',
  'secret',
  'clientSecret',
  'client_secret',
  'cookie',
].flatMap((key) => [key, `*.${key}`]);

/** The level that ROLLCALL_LOG_LEVEL asks for; `info` if nothing. Throws `CONFIG_INVALID`. */
export function logLevelFrom(env: Readonly<Record<string, string | undefined>>): LogLevel {
  const wanted = env['ROLLCALL_LOG_LEVEL'] ?? '';
  if (wanted === '') return 'info';
  const level = LEVELS.find((known) => known === wanted.toLowerCase());
  if (level !== undefined) return level;
  throw new RollcallError('CONFIG_INVALID', 'ROLLCALL_LOG_LEVEL names no level', {
    remedy: `Set it to one of ${LEVELS.join(', ')}, or leave it out.`,
  });
}

/**
 * A logger of JSON lines. Redaction is the second net: nothing secret and no row content should get
 * here, and what does by mistake is taken out by the name of its key, or as a credential in text.
 */
export function createLogger(options: { level: LogLevel; destination: DestinationStream }): Logger {
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      serializers: { err: withoutData },
      // Children's bindings pass by the formatters, but not by this.
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

/**
 * Where logs go: a file descriptor, as JSON; on a terminal, readable by people if pino-pretty is there
 * (a development dependency).
 */
export async function openLogDestination(options: { fd: 1 | 2; isTty: boolean }): Promise<DestinationStream> {
  // Synchronous: few lines, and none may be lost when the process ends.
  const destination = pino.destination({ fd: options.fd, sync: true });
  // A reader that went away must not take the process with it.
  destination.on('error', () => {});
  if (!options.isTty) return destination;
  try {
    const { default: pretty } = await import('pino-pretty');
    return pretty({ destination, colorize: true, translateTime: 'SYS:HH:MM:ss', sync: true });
  } catch {
    return destination;
  }
}

const MAX_DEPTH = 6;
const MAX_ITEMS = 100;

function redactMap(map: object, depth = 0): Record<string, unknown> {
  const entries = Object.entries(map).slice(0, MAX_ITEMS);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, isSecretKey(key) ? REDACTED : redact(value, depth + 1)]),
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

/** Pino takes the message of an error for the line's where there is none: not unseen. */
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

/** Of what is put into a message: text as it may be shown. Fields are not text: the formatter sees to them. */
function scrubText(value: unknown, index?: number): unknown {
  if (typeof value === 'string') return scrub(value);
  if (index === undefined) return value;
  return value instanceof Error ? safeErrorMessage(value) : redact(value, 1);
}

/** What comes as an error; the formatter before this may have made it safe already. */
function withoutData(value: unknown): unknown {
  return value instanceof Error || typeof value === 'string' ? safeError(value) : value;
}

function isSecretKey(key: string): boolean {
  return SECRET_KEYS.has(key.toLowerCase().replace(/[-_]/g, ''));
}
