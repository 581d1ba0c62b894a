import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { RollcallError } from '../errors.ts';
import type { Health } from './reported-reasons.ts';
import { PAGE_HEADERS, type PageFile } from './page-files.ts';
import type { Board } from './monitor/board.ts';

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export interface MetricsText {
  readonly contentType: string;
  /** The metrics in the text format of Prometheus. */
  text(): Promise<string>;
}

interface ServerParts {
  /** The files of the status page, by path. */
  readonly page?: ReadonlyMap<string, PageFile> | undefined;
  readonly health: Health;
  readonly metrics: MetricsText;
  /** If left out, readiness follows from the events alone. */
  readonly board?: Pick<Board, 'reasons' | 'json'> | undefined;
}

/** The server of the status page, probes and metrics. Start it first and close it last, so that probes always get an answer. */
export interface StatusServer {
  readonly host: string;
  /** The port in use, also if the requested port was 0. */
  readonly port: number;
  close(): Promise<void>;
}

// To import node:http as a module would read all its exports, and so load Node's fetch and WebSocket: at each start some
// 50 ms of CPU time, and 16 MB that stay.
const { createServer } = process.getBuiltinModule('node:http');

const JSON_TYPE = 'application/json; charset=utf-8';
/** Probes and scrapers need few. One connection more closes the oldest idle one. */
const MAX_CONNECTIONS = 100;
/** How often Node checks time-outs of connections; its default is half a minute. */
const CHECK_TIMEOUTS_EVERY_MS = 1_000;
const CLOSE_GRACE_MS = 500;

/**
 * Serves the status page at `/`, `/status.json`, `/livez` (500 when only a restart helps), `/readyz` (503 with the reasons) and `/metrics`.
 * Throws `CONFIG_INVALID` when it cannot listen at the address.
 */
export async function startStatusServer(options: {
  host: string;
  port: number;
  health: Health;
  metrics: MetricsText;
  board?: Pick<Board, 'reasons' | 'json'> | undefined;
  page?: ReadonlyMap<string, PageFile> | undefined;
}): Promise<StatusServer> {
  const server = createServer(
    {
      headersTimeout: 5000,
      requestTimeout: 10_000,
      keepAliveTimeout: 5000,
      connectionsCheckingInterval: CHECK_TIMEOUTS_EVERY_MS,
      maxHeaderSize: 8192,
    },
    (request, response) => {
      respond(request, response, options).catch(() => response.destroy());
    },
  );
  boundConnections(server);
  await listen(server, options);
  // A broken connection of a probe needs no action.
  server.on('error', () => {});
  const { port } = server.address() as AddressInfo;
  return { host: options.host, port, close: () => close(server) };
}

/** Closes the oldest idle connection: refusing new ones would let idle connections lock out every probe. */
function boundConnections(server: Server): void {
  const open = new Set<Socket>();
  const busy = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size <= MAX_CONNECTIONS) return;
    const oldest = open.values().find((each) => !busy.has(each)) ?? socket;
    open.delete(oldest);
    oldest.destroy();
  });
  server.on('request', ({ socket }, response) => {
    busy.add(socket);
    response.once('close', () => busy.delete(socket));
  });
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  parts: ServerParts,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    // The request's body is not read, so the connection must end with the answer.
    response.writeHead(405, { allow: 'GET, HEAD', connection: 'close' }).end();
    return;
  }
  const { status, contentType, body } = await answer(request.url ?? '/', parts);
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...PAGE_HEADERS,
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

async function answer(url: string, parts: ServerParts): Promise<Answer> {
  const path = url.replace(/[?#].*$/, '');
  switch (path) {
    case '/livez':
      return liveness(parts.health);
    case '/readyz':
      return readiness(parts);
    case '/status.json':
      return json(200, parts.board?.json() ?? {});
    case '/metrics':
      return metricsPage(parts.metrics);
    default: {
      const file = parts.page?.get(path);
      if (file !== undefined) return { status: 200, ...file };
      return json(404, { error: 'There is /, /status.json, /livez, /readyz and /metrics.' });
    }
  }
}

/** Any answer shows that the event loop runs. */
function liveness(health: Health): Answer {
  const why = health.fatalReason();
  return why === null ? json(200, { live: true }) : json(500, { live: false, why });
}

function readiness({ health, board }: ServerParts): Answer {
  const known = board?.reasons() ?? health.reasons();
  const fatal = health.fatalReason();
  const last = {
    part: 'stop',
    why: fatal,
    remedy: 'The process ends by itself; see its last log lines.',
  };
  const reasons = fatal === null ? known : [...known, last];
  return json(reasons.length === 0 ? 200 : 503, { ready: reasons.length === 0, reasons });
}

async function metricsPage(metrics: MetricsText): Promise<Answer> {
  try {
    return { status: 200, contentType: metrics.contentType, body: await metrics.text() };
  } catch {
    return json(500, { error: 'The metrics cannot be read.' });
  }
}

function json(status: number, value: unknown): Answer {
  return { status, contentType: JSON_TYPE, body: `${JSON.stringify(value)}\n` };
}

async function listen(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, () => {
        server.off('error', reject);
        resolve();
      });
    });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    const why = code === 'EADDRINUSE' ? 'another program uses the port' : code;
    throw new RollcallError(
      'CONFIG_INVALID',
      `Rollcall cannot serve probes and metrics at ${host}:${port}: ${why}`,
      {
        remedy: 'Set http.host and http.port to an address of this machine and a free port.',
        cause: error,
      },
    );
  }
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await closed;
  clearTimeout(timer);
}
