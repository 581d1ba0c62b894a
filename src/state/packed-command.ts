import { Command } from 'ioredis';

const CARRIAGE_RETURN = 13;
const LINE_FEED = 10;
const DOLLAR = 36;
const ZERO = 48;
/** `$`, up to ten digits and a line end before an argument, and the line end after it. */
const MOST_AROUND_ARGUMENT = 15;

export type RedisArgument = string | Buffer | number;

/**
 * A command with thousands of arguments, some of them bytes. ioredis copies the list of arguments, makes three pieces
 * of each and measures every piece twice, which took half of what a write to the index cost this process. `keys`: the
 * keys among the arguments, by which the node of a Cluster is chosen. `parts`: the arguments, in several lists, so that
 * nobody has to join them.
 */
export class PackedCommand extends Command {
  readonly #keys: readonly string[];
  readonly #parts: readonly (readonly RedisArgument[])[];

  constructor(name: string, keys: readonly string[], ...parts: readonly (readonly RedisArgument[])[]) {
    super(name);
    this.#keys = keys;
    this.#parts = parts;
  }

  override getKeys(): string[] {
    return [...this.#keys];
  }

  override toWritable(): Buffer {
    return packed([[this.name], ...this.#parts]);
  }
}

/** Writes a command in Redis' protocol (RESP): an array of texts, each with its length before it. */
function packed(parts: readonly (readonly RedisArgument[])[]): Buffer {
  const head = `*${parts.reduce((sum, { length }) => sum + length, 0)}\r\n`;
  let most = head.length;
  for (const part of parts) for (const each of part) most += bytesOf(each) + MOST_AROUND_ARGUMENT;
  const bytes = Buffer.allocUnsafe(most);
  let at = bytes.write(head);
  for (const part of parts) for (const each of part) at = writeArgument(bytes, at, each);
  return bytes.subarray(0, at);
}

function bytesOf(argument: RedisArgument): number {
  return Buffer.byteLength(typeof argument === 'number' ? String(argument) : argument);
}

function writeArgument(bytes: Buffer, start: number, argument: RedisArgument): number {
  bytes[start] = DOLLAR;
  let at = writeDigits(bytes, start + 1, bytesOf(argument));
  at = writeLineEnd(bytes, at);
  if (typeof argument === 'object') {
    bytes.set(argument, at);
    at += argument.length;
  } else {
    at += bytes.write(String(argument), at);
  }
  return writeLineEnd(bytes, at);
}

function writeDigits(bytes: Buffer, start: number, value: number): number {
  let end = start + 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) end += 1;
  for (let at = end - 1, rest = value; at >= start; at -= 1, rest = Math.floor(rest / 10)) {
    bytes[at] = ZERO + (rest % 10);
  }
  return end;
}

function writeLineEnd(bytes: Buffer, at: number): number {
  bytes[at] = CARRIAGE_RETURN;
  bytes[at + 1] = LINE_FEED;
  return at + 2;
}
