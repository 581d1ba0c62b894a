import { RollcallError } from '../errors.ts';

/** An error in a form that is safe to log (invariant 9): without row content and secrets. */
export interface SafeError {
  readonly name: string;
  readonly code?: string | undefined;
  readonly message: string;
  readonly remedy?: string | undefined;
  /** Stack frames of our own code, only for programming errors. */
  readonly at?: readonly string[] | undefined;
  readonly cause?: SafeError | undefined;
}

const LEFT_OUT = 'message left out, as it may quote data';
/** Messages of fixed text. Those of a TypeError or a RangeError may quote a value ("Invalid time zone specified: …"). */
const FIXED_TEXTS = new Set(['AbortError', 'TimeoutError']);
/** Codes of Node whose messages name a connection or a certificate. Others quote arguments (`ERR_INVALID_ARG_VALUE`). */
const CONNECTION_CODE = /^ERR_(SSL|TLS|STREAM|SOCKET)_[A-Z_]+$/;
const MAX_MESSAGE = 1000;
const MAX_CAUSES = 3;

/**
 * Returns an error's message, if it is safe. Parsers and the Avro encoder quote the data they fail on, so only messages
 * of known kinds are safe: our own, the system's and kafkajs' own. Of others the class and the place in our code are shown.
 */
export function safeErrorMessage(error: unknown): string {
  if (!(error instanceof Error)) return LEFT_OUT;
  return mayBeShown(error) ? scrub(error.message).slice(0, MAX_MESSAGE) : `${error.name} (${LEFT_OUT})`;
}

function mayBeShown(error: Error): boolean {
  // A reply of Redis quotes a command's arguments; a broker's answer to a login may quote the user name.
  if (error.name === 'ReplyError' || error.name === 'KafkaJSSASLAuthenticationError') return false;
  // kafkajs wraps an error of a batch handler and copies its text.
  if (error.name.startsWith('KafkaJS') && error.cause instanceof Error) return mayBeShown(error.cause);
  if (error instanceof RollcallError || FIXED_TEXTS.has(error.name)) return true;
  return isReport(error) || CONNECTION_CODE.test(codeOf(error) ?? '');
}

/** A reply of Redis, and a request to a Kafka broker that was not done. */
const REPORTS = new Set(['ReplyError', 'RequestFailure']);

/** Whether a library or the system reports an outside failure: its name, code and message suffice without a stack. */
function isReport(error: Error): boolean {
  if (error.name.startsWith('KafkaJS') || REPORTS.has(error.name)) return true;
  return /^(E[A-Z]{2,}|UND_ERR_[A-Z_]+|[A-Z_]*CERT[A-Z_]*)$/.test(codeOf(error) ?? '');
}

export function safeError(error: unknown, depth = 0): SafeError {
  if (!(error instanceof Error)) return { name: typeof error, message: LEFT_OUT };
  const own = error instanceof RollcallError;
  const code = codeOf(error);
  return {
    name: error.name,
    ...(code === undefined ? {} : { code }),
    message: safeErrorMessage(error),
    ...(own ? { remedy: scrub(error.remedy) } : whereOf(error)),
    ...(error.cause === undefined || depth >= MAX_CAUSES ? {} : { cause: safeError(error.cause, depth + 1) }),
  };
}

function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Returns frames of our own code. Frames of libraries are many, do not help, and show where the program is installed. */
function whereOf(error: Error): { at?: readonly string[] } {
  if (isReport(error)) return {};
  const at = frames(error).filter((frame) => !LIBRARY.test(frame));
  return at.length === 0 ? {} : { at: at.slice(0, MAX_FRAMES) };
}

const LIBRARY = /[/\\]node_modules[/\\]/;
const MAX_FRAMES = 4;
const FRAME = /^at (.+ \()?(file:\/\/|node:|\/|[A-Z]:\\).*:\d+:\d+\)?$/;

/** Returns the frames after the message, since the message may have lines that look like frames. */
function frames(error: Error): string[] {
  const stack = error.stack ?? '';
  const start = stack.indexOf(error.message);
  if (start === -1) return [];
  const lines = stack.slice(start + error.message.length).split('\n');
  return lines.map((line) => line.trim()).filter((line) => FRAME.test(line));
}

/** Removes credentials from text: `Authorization` values, and user names and passwords in addresses. */
export function scrub(text: string): string {
  return text
    .replace(/\b(Bearer|Basic)\s+[\w+/=.~-]{6,}/gi, '$1 [redacted]')
    .replace(/(:\/\/)[^\s/@]+@/g, '$1[redacted]@');
}
