import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HubClock } from '../hub-clock.ts';
import type { District } from '../district/district.ts';
import type { ActiveFaults } from './faults/active-faults.ts';
import { sendPlainly } from './faults/connection-faults.ts';
import { readBody } from './read-body.ts';
import type { Reply } from './reply.ts';
import { refusalReply, RequestRefused } from './reply.ts';
import type { RequestLog } from './request-log.ts';
import { routeOf, targetOf } from './routes.ts';
import type { MetFault } from './serve-collection.ts';
import { serveRoute } from './serve-resource.ts';
import type { TokenEndpoint } from './token-endpoint.ts';

export const TOKEN_PATH = '/oauth/token';
export const CONTROL_PATH = '/control';

export interface HubServerParts {
  readonly district: () => District;
  /** Tenant path prefix, `/north` or empty. */
  readonly tenantPath: string;
  readonly clock: HubClock;
  readonly faults: ActiveFaults;
  readonly log: RequestLog;
  readonly tokens: TokenEndpoint;
  readonly control: (request: IncomingMessage, path: URL) => Promise<Reply>;
  readonly random: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** Origin in links; undefined: the one the client used. */
  readonly publicOrigin: string | undefined;
}

/** Listens and answers; every part of an answer is decided elsewhere. */
export async function listen(
  parts: HubServerParts,
  options: { host: string; port: number },
): Promise<{ port: number; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    void answer(parts, { request, response });
  });
  server.keepAliveTimeout = 30_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return { port: (server.address() as AddressInfo).port, close: () => closed(server) };
}

async function answer(
  parts: HubServerParts,
  exchange: { request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  const { request, response } = exchange;
  response.on('error', () => {});
  const url = addressed(parts, request);
  if (url === undefined) {
    await sendPlainly(response, refusalReply(new RequestRefused(400, 'The address cannot be read.')));
    return;
  }
  const target = targetAt(parts, url);
  const faults = parts.faults.meet(target).map((active): MetFault => ({
    fault: active.fault,
    context: { target, url, value: active.value, random: parts.random, sleep: parts.sleep },
  }));
  let reply: Reply;
  try {
    reply = await decide(parts, { request, url, target, faults });
  } catch (error) {
    reply = refusalReply(error instanceof RequestRefused ? error : internalError(error));
  }
  reply.headers['date'] ??= new Date(parts.clock.now()).toUTCString();
  for (const { fault, context } of faults) fault.reply?.(reply, context);
  parts.log.add({
    at: new Date(parts.clock.now()).toISOString(),
    method: request.method ?? '',
    target,
    url: request.url ?? '',
    status: reply.status,
  });
  const sender = faults.find(({ fault }) => fault.send !== undefined);
  if (sender?.fault.send === undefined) await sendPlainly(response, reply);
  else await sender.fault.send(response, { reply, context: sender.context });
}

async function decide(
  parts: HubServerParts,
  options: { request: IncomingMessage; url: URL; target: string; faults: readonly MetFault[] },
): Promise<Reply> {
  const { request, url, target, faults } = options;
  if (target === 'control') return parts.control(request, url);
  for (const { fault, context } of faults) {
    const reply = await fault.request?.(context);
    if (reply !== undefined) return reply;
  }
  if (target === 'token') return issueToken(parts, request);
  const route = routeOf(url.pathname.slice(parts.tenantPath.length));
  if (target === 'unknown' || route === undefined) {
    throw new RequestRefused(404, 'Nothing is served at this address.');
  }
  if (request.method !== 'GET') {
    throw new RequestRefused(405, 'Only GET is possible here.', { headers: { allow: 'GET' } });
  }
  authorise(parts, request);
  return serveRoute(parts.district(), { route, url, faults });
}

/** Spec section 5. @throws RequestRefused 401 without a valid token */
function authorise(parts: HubServerParts, request: IncomingMessage): void {
  const verdict = parts.tokens.check(request.headers.authorization);
  if (verdict === 'good') return;
  const challenge =
    verdict === 'missing' ? 'Bearer realm="hub"' : 'Bearer realm="hub", error="invalid_token"';
  const description =
    verdict === 'missing' ? 'A bearer token is needed.' : 'The token is unknown or has expired.';
  throw new RequestRefused(401, description, { headers: { 'www-authenticate': challenge } });
}

async function issueToken(parts: HubServerParts, request: IncomingMessage): Promise<Reply> {
  if (request.method !== 'POST') {
    throw new RequestRefused(405, 'Only POST is possible here.', { headers: { allow: 'POST' } });
  }
  const body = await readBody(request, 65_536);
  return parts.tokens.issue({
    authorization: request.headers.authorization,
    contentType: request.headers['content-type'] ?? '',
    body,
  });
}

function addressed(parts: HubServerParts, request: IncomingMessage): URL | undefined {
  const origin = parts.publicOrigin ?? `http://${request.headers.host ?? 'localhost'}`;
  const path = request.url ?? '/';
  return URL.canParse(path, origin) && path.startsWith('/') && !path.startsWith('//')
    ? new URL(path, origin)
    : undefined;
}

function targetAt(parts: HubServerParts, url: URL): string {
  if (url.pathname === TOKEN_PATH) return 'token';
  if (url.pathname === CONTROL_PATH || url.pathname.startsWith(`${CONTROL_PATH}/`)) return 'control';
  if (!url.pathname.startsWith(`${parts.tenantPath}/`)) return 'unknown';
  const route = routeOf(url.pathname.slice(parts.tenantPath.length));
  return route === undefined ? 'unknown' : targetOf(route);
}

function internalError(error: unknown): RequestRefused {
  const description = error instanceof Error ? error.message : 'The hub failed.';
  return new RequestRefused(500, description);
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
}
