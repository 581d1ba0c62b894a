import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import type { Registry } from 'prom-client';
import { commandsHere } from '../commands-here.ts';
import { RollcallError } from '../errors.ts';
import type { Board } from './board.ts';

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** The parts of the process that the server shows. */
interface Shown {
  readonly board: Pick<Board, 'readiness' | 'json' | 'fatalReason'>;
  readonly metrics: Pick<Registry, 'contentType' | 'metrics'>;
  /** What `rollcall help` prints of a topic; throws for a topic without help. */
  readonly help: (topic: string) => string;
}

// To import node:http as a module would read all its exports, and so load Node's fetch and WebSocket: at each start some
// 50 ms of CPU time, and 16 MB that stay.
const { createServer } = process.getBuiltinModule('node:http');

/** Nothing but the page's own files: no inline script or style, no other host, no frame around it. */
const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
} as const;
const HTML_TYPE = 'text/html; charset=utf-8';
/** The files of the status page, by path. */
const PAGE: ReadonlyMap<string, Answer> = new Map(
  [
    ['/', 'index.html', HTML_TYPE],
    ['/status.css', 'status.css', 'text/css; charset=utf-8'],
    ['/status.js', 'status.js', 'text/javascript; charset=utf-8'],
    ['/dom.js', 'dom.js', 'text/javascript; charset=utf-8'],
    ['/icon.svg', 'icon.svg', 'image/svg+xml'],
  ].map(([path = '', name = '', contentType = '']) => {
    const body = readFileSync(new URL(`page/${name}`, import.meta.url), 'utf8');
    return [path, { status: 200, contentType, body }];
  }),
);
const NOT_THERE = 'There is /, /status.json, /livez, /readyz, /metrics and /help/<topic>.';
const TEXT_TYPE = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';
/** Probes and scrapers need few connections. Further ones are refused until some of these end. */
const MAX_CONNECTIONS = 1_000;
const IDLE_MS = 5_000;
/** How often Node looks for connections that are idle for too long; its default is half a minute. */
const CHECK_TIMEOUTS_EVERY_MS = 1_000;
const CLOSE_GRACE_MS = 500;

/**
 * Serves the status page at `/`, `/status.json`, `/livez` (500 when only a restart helps), `/readyz` (503 when not ready, with reasons), `/metrics`
 * and `/help/<topic>`.
 * Start it first and close it last, so that probes always get an answer. Throws `CONFIG_INVALID` when it cannot listen at the
 * address.
 */
export async function startStatusServer(options: Shown & { host: string; port: number }) {
  const server = createServer(
    {
      headersTimeout: IDLE_MS,
      requestTimeout: 10_000,
      keepAliveTimeout: IDLE_MS,
      connectionsCheckingInterval: CHECK_TIMEOUTS_EVERY_MS,
      maxHeaderSize: 8192,
    },
    (request, response) => {
      respond(request, response, options).catch(() => response.destroy());
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, options);
  // A broken connection of a probe needs no action.
  server.on('error', () => {});
  // If the configured port is 0, the system has chosen the port.
  const { port } = server.address() as AddressInfo;
  return { port, close: () => close(server) };
}

async function respond(request: IncomingMessage, response: ServerResponse, shown: Shown): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    // The request's body is not read, so the connection must end with the answer.
    response.writeHead(405, { allow: 'GET, HEAD', connection: 'close' }).end();
    return;
  }
  const { status, contentType, body } = await answer(request.url ?? '/', shown);
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...PAGE_HEADERS,
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

async function answer(url: string, { board, metrics, help }: Shown): Promise<Answer> {
  const [path = '', query] = url.split(/[?#]/);
  const fatal = board.fatalReason;
  switch (path) {
    case '/livez':
      // Any answer shows that the event loop runs.
      return fatal === null ? json(200, { live: true }) : json(500, { live: false, why: fatal });
    case '/readyz': {
      const readiness = board.readiness();
      return json(readiness.ready ? 200 : 503, readiness);
    }
    case '/status.json':
      return json(200, await board.json(new URLSearchParams(query).getAll('details')));
    case '/metrics':
      return metrics.metrics().then(
        (body) => ({ status: 200, contentType: metrics.contentType, body }),
        () => json(500, { error: 'The metrics cannot be read.' }),
      );
    default:
      return PAGE.get(path) ?? helpAt(path, help) ?? json(404, { error: NOT_THERE });
  }
}

function helpAt(path: string, help: Shown['help']): Answer | undefined {
  const [, topic] = /^\/help\/([\w-]{1,60})$/.exec(path) ?? [];
  if (topic === undefined) return undefined;
  try {
    return { status: 200, contentType: TEXT_TYPE, body: help(topic) };
  } catch {
    return undefined;
  }
}

function json(status: number, value: unknown): Answer {
  const readable = (_: string, each: unknown): unknown =>
    typeof each === 'string' ? commandsHere(each) : each;
  return { status, contentType: JSON_TYPE, body: `${JSON.stringify(value, readable)}\n` };
}

async function listen(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  try {
    server.listen({ host, port });
    await once(server, 'listening');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    const why = code === 'EADDRINUSE' ? 'another program uses the port' : code;
    const what = `Rollcall cannot serve probes and metrics at ${host}:${port}: ${why}`;
    const remedy = 'Set http.host and http.port to an address of this machine and a free port.';
    throw new RollcallError('CONFIG_INVALID', what, { remedy, cause: error });
  }
}

async function close(server: Server): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  clearTimeout(timer);
}
