import type { Reply } from '../reply.ts';
import { refusalReply, RequestRefused } from '../reply.ts';
import type { Fault } from './fault.ts';
import { numberIn } from './fault.ts';
import { written } from './connection-faults.ts';

const HTML =
  '<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>';

/** Answers that are wrong as a whole. */
export const ANSWER_FAULTS: readonly Fault[] = [
  {
    name: 'error-rate',
    summary: 'this share of the requests is answered with 500, 502, 503 or 504',
    value: { meaning: 'share', byDefault: '0.1' },
    request: ({ random, value }) => {
      if (random() >= numberIn(value)) return undefined;
      return failure([500, 502, 503, 504][Math.floor(random() * 4)] ?? 500);
    },
  },
  {
    name: 'status',
    summary: 'every request is answered with this status',
    value: { meaning: 'code', byDefault: '500' },
    request: ({ value }) => failure(numberIn(value)),
  },
  {
    name: 'rate-limit',
    summary: '429 with a Retry-After of this many seconds and an HTML body',
    value: { meaning: 'seconds', byDefault: '1' },
    request: ({ value }) => ({
      status: 429,
      headers: { 'content-type': 'text/html', 'retry-after': value },
      body: Buffer.from('<html><body>Too many requests</body></html>'),
    }),
  },
  {
    name: 'html-error',
    summary: 'an HTML page with this status instead of JSON',
    value: { meaning: 'code', byDefault: '502' },
    request: ({ value }) => ({
      status: numberIn(value),
      headers: { 'content-type': 'text/html; charset=utf-8' },
      body: Buffer.from(HTML),
    }),
  },
  {
    name: 'not-offered',
    summary: '404, as for a collection that this hub does not have',
    request: () => refusalReply(new RequestRefused(404, 'No such collection here.')),
  },
  {
    name: 'token-expired-403',
    summary: 'an expired token is answered with 403 instead of 401',
    expiredTokenStatus: 403,
  },
  {
    name: 'truncate',
    summary: 'the JSON stops half-way, with headers that fit the shorter body',
    reply: (reply) => {
      reply.body = reply.body.subarray(0, Math.floor(reply.body.length / 2));
    },
  },
  {
    name: 'huge-response',
    summary: 'a body of this many megabytes (blank space inside the JSON)',
    value: { meaning: 'MB', byDefault: '256' },
    send: async (response, { reply, context }) => {
      response.writeHead(reply.status, reply.headers);
      const blank = Buffer.alloc(1_048_576, ' ');
      for (let sent = 0; sent < numberIn(context.value) && !response.destroyed; sent += 1) {
        await written(response, blank);
      }
      response.end(reply.body);
    },
  },
  {
    name: 'wrong-type',
    summary: 'JSON sent as text/plain',
    reply: (reply) => {
      reply.headers['content-type'] = 'text/plain';
    },
  },
];

function failure(status: number): Reply {
  return refusalReply(new RequestRefused(status, 'A fault that was asked for.'));
}
