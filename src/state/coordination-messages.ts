import { z } from 'zod';
import { RollcallError } from '../errors.ts';
import { MOST_REQUESTS_WAITING } from './coordination.ts';
import type { OwnerRequest, RequestAnswer } from './coordination.ts';

const REQUEST = z.object({
  id: z.string(),
  kind: z.string(),
  parameters: z.record(z.string(), z.unknown()),
});

const ANSWER = z.discriminatedUnion('state', [
  z.object({ state: z.literal('taken'), owner: z.string(), progress: z.unknown() }),
  z.object({ state: z.literal('done'), owner: z.string(), result: z.unknown() }),
  z.object({
    state: z.literal('failed'),
    owner: z.string(),
    code: z.string(),
    message: z.string(),
    remedy: z.string(),
  }),
]);

const INFO = z.record(z.string(), z.string());

/** Returns null for text that cannot be read: it comes from another version, or not from Rollcall. */
export function requestFromJson(text: string): OwnerRequest | null {
  return parsed(REQUEST, text);
}

export function answerFromJson(text: string): RequestAnswer | null {
  return parsed(ANSWER, text);
}

/** Returns an empty object for text that cannot be read. */
export function infoFromJson(text: string): Readonly<Record<string, string>> {
  return parsed(INFO, text) ?? {};
}

function parsed<T>(schema: z.ZodType<T>, text: string): T | null {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

export function tooManyRequests(tenantId: string): RollcallError {
  return new RollcallError(
    'INDEX_REFUSED',
    `${MOST_REQUESTS_WAITING} requests already wait for the process that owns ${tenantId}`,
    { remedy: 'Wait until it has handled some of them; `rollcall status` shows what it is doing.' },
  );
}
