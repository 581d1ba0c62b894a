import type { ServerResponse } from 'node:http';
import type { Reply } from '../reply.ts';
import type { Fault } from './fault.ts';
import { numberIn } from './fault.ts';

/** Trouble on the way: nothing is wrong with the answer itself. */
export const CONNECTION_FAULTS: readonly Fault[] = [
  {
    name: 'latency',
    summary: 'every answer comes this much later',
    value: { meaning: 'ms', byDefault: '200' },
    request: async ({ sleep, value }) => {
      await sleep(numberIn(value));
      return undefined;
    },
  },
  {
    name: 'reset',
    summary: 'the connection is cut in the middle of the body, for this share of the requests',
    value: { meaning: 'share', byDefault: '1' },
    send: async (response, { reply, context }) => {
      if (context.random() >= numberIn(context.value)) return sendPlainly(response, reply);
      response.writeHead(reply.status, { ...reply.headers, 'content-length': reply.body.length });
      await written(response, reply.body.subarray(0, Math.floor(reply.body.length / 2)));
      response.socket?.resetAndDestroy();
    },
  },
  {
    name: 'refuse-connection',
    summary: 'the connection is cut before any answer, for this share of the requests',
    value: { meaning: 'share', byDefault: '1' },
    send: async (response, { reply, context }) => {
      if (context.random() >= numberIn(context.value)) return sendPlainly(response, reply);
      response.socket?.resetAndDestroy();
    },
  },
  {
    name: 'no-date',
    summary: 'answers without a Date header',
    send: (response, { reply }) => {
      response.sendDate = false;
      const headers = { ...reply.headers };
      delete headers['date'];
      return sendPlainly(response, { ...reply, headers });
    },
  },
];

export function sendPlainly(response: ServerResponse, reply: Reply): Promise<void> {
  // 204 and 304 have no body, and RFC 9110 forbids a Content-Length with 204.
  const length: Record<string, number> = reply.status === 204 ? {} : { 'content-length': reply.body.length };
  response.writeHead(reply.status, { ...reply.headers, ...length });
  response.end(reply.body);
  return Promise.resolve();
}

function written(response: ServerResponse, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    response.write(bytes, () => {
      resolve();
    });
  });
}
