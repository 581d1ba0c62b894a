import { createRequire } from 'node:module';
import type { Socket } from 'node:net';

interface Connection {
  readonly host: string;
  readonly port: number;
  readonly socket: Socket | undefined;
  send(request: unknown): Promise<unknown>;
  rejectRequests(error: Error): void;
  disconnect(): Promise<unknown>;
}

interface KafkaJsErrors {
  readonly KafkaJSConnectionClosedError: new (
    message: string,
    where: { host: string; port: number },
  ) => Error;
}

const patched = new WeakSet<object>();

/**
 * Makes kafkajs 2.2.4 close a connection when a request on it times out, and fail its pending requests.
 *
 * By itself it retries a dozen times on the same connection, which takes minutes; a connection that a firewall dropped
 * stays dead. Java's client also closes the connection when a request times out. The callers decide about a retry,
 * which then uses a new connection.
 */
export function dropSilentConnections(): void {
  const require = createRequire(import.meta.url);
  const connection = (require('kafkajs/src/network/connection') as { prototype: Connection }).prototype;
  const { KafkaJSConnectionClosedError } = require('kafkajs/src/errors') as KafkaJsErrors;
  if (patched.has(connection)) return;
  patched.add(connection);
  const send = Object.getOwnPropertyDescriptor(connection, 'send')?.value as Connection['send'];
  connection.send = async function sendOrDrop(this: Connection, request: unknown): Promise<unknown> {
    try {
      return await send.call(this, request);
    } catch (error) {
      if (!isTimeout(error)) throw error;
      const { host, port, socket } = this;
      this.rejectRequests(new KafkaJSConnectionClosedError('No answer in time', { host, port }));
      await this.disconnect();
      socket?.destroy();
      throw Object.assign(error, { retriable: false });
    }
  };
}

function isTimeout(error: unknown): error is Error {
  return error instanceof Error && error.name === 'KafkaJSRequestTimeoutError';
}
