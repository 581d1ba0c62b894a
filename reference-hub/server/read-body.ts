import type { IncomingMessage } from 'node:http';
import { RequestRefused } from './reply.ts';

/** The request's body as text. @throws RequestRefused 400 above `limitBytes` */
export async function readBody(request: IncomingMessage, limitBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limitBytes) throw new RequestRefused(400, 'The body is too large.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
