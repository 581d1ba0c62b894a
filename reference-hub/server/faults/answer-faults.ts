import type { Reply } from '../reply.ts';
import { refusalReply, RequestRefused } from '../reply.ts';
import type { Fault } from './fault.ts';
import { numberIn } from './fault.ts';

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
    name: 'truncate',
    summary: 'the JSON stops half-way, with headers that fit the shorter body',
    reply: (reply) => {
      reply.body = reply.body.subarray(0, Math.floor(reply.body.length / 2));
    },
  },
];

function failure(status: number): Reply {
  return refusalReply(new RequestRefused(status, 'A fault that was asked for.'));
}
