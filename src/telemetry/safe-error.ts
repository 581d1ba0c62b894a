import { RollcallError } from '../errors.ts';

/** An error as it may be logged (invariant 9): no row content, no secret. */
export interface SafeError {
  readonly name: string;
  readonly code?: string | undefined;
  readonly message: string;
  readonly remedy?: string | undefined;
  /** Where in our code it came from: only for mistakes, not for what we or a library say on purpose. */
  readonly at?: readonly string[] | undefined;
  readonly cause?: SafeError | undefined;
}

const WITHHELD = 'message withheld, as it may quote data';
/** A mistake of our own: the runtime writes these, and they name code, not data. */
const RUNTIME_ERRORS = new Set(['TypeError', 'RangeError', 'ReferenceError', 'AbortError', 'TimeoutError']);
const MAX_MESSAGE = 1000;
const MAX_CAUSES = 3;

/**
 * The message of an error, if it may be shown. Parsers and the Avro encoder quote the data they choke on,
 * so only messages of known kinds pass: our own, the system's, kafkajs' own and the runtime's.
 */
export function safeErrorMessage(error: unknown): string {
  if (!(error instanceof Error)) return WITHHELD;
  return mayBeShown(error) ? scrub(error.message).slice(0, MAX_MESSAGE) : `${error.name} (${WITHHELD})`;
}

function mayBeShown(error: Error): boolean {
  // A reply of Redis quotes a command's arguments; a broker's answer to a login may quote the name that was sent.
  if (error.name === 'ReplyError' || error.name === 'KafkaJSSASLAuthenticationError') return false;
  // kafkajs wraps what was thrown while it handed over a batch, and takes over its text.
  if (error.name.startsWith('KafkaJS') && error.cause instanceof Error) return mayBeShown(error.cause);
  if (error instanceof RollcallError || RUNTIME_ERRORS.has(error.name)) return true;
  return isReport(error) || /^ERR_[A-Z_]+$/.test(codeOf(error) ?? '');
}

/** Not a mistake, but what a library or the system says of the world: its name, code and message tell it all. */
function isReport(error: Error): boolean {
  if (error.name.startsWith('KafkaJS') || error.name === 'ReplyError') return true;
  return /^(E[A-Z]{2,}|UND_ERR_[A-Z_]+|[A-Z_]*CERT[A-Z_]*)$/.test(codeOf(error) ?? '');
}

export function safeError(error: unknown, depth = 0): SafeError {
  if (!(error instanceof Error)) return { name: typeof error, message: WITHHELD };
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

/** Frames of our own code. Those of libraries are many, help nobody, and tell where the program is installed. */
function whereOf(error: Error): { at?: readonly string[] } {
  if (isReport(error)) return {};
  const at = frames(error).filter((frame) => !LIBRARY.test(frame));
  return at.length === 0 ? {} : { at: at.slice(0, MAX_FRAMES) };
}

const LIBRARY = /[/\\]node_modules[/\\]/;
const MAX_FRAMES = 4;
const FRAME = /^at (.+ \()?(file:\/\/|node:|\/|[A-Z]:\\).*:\d+:\d+\)?$/;

/** The frames. A stack begins with the message, which may have lines that look like frames. */
function frames(error: Error): string[] {
  const stack = error.stack ?? '';
  const start = stack.indexOf(error.message);
  if (start === -1) return [];
  const lines = stack.slice(start + error.message.length).split('\n');
  return lines.map((line) => line.trim()).filter((line) => FRAME.test(line));
}

/** Takes credentials out of text: `Authorization` values and user names and passwords in addresses. */
export function scrub(text: string): string {
  return text
    .replace(/\b(Bearer|Basic)\s+[\w+/=.~-]{6,}/gi, '$1 [redacted]')
    .replace(/(:\/\/)[^\s/@]+@/g, '$1[redacted]@');
}
