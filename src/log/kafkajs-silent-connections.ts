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
 * Has kafkajs 2.2.4 give up a connection on which an answer did not come in time, and fail what was asked.
 *
 * Left alone it asks again on the same connection, a dozen times, which takes minutes; and a connection that a firewall has
 * forgotten stays dead whatever is sent on it. Java's client, too, closes the connection when a request times out. Whether to
 * ask again is for those who asked to decide: each of them begins anew, on a new connection.
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
