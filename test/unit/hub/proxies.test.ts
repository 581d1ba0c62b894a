import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createPlainServer } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createProxy } from 'proxy';
import { afterAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { createHttpAgent } from '../../../src/http-agent.ts';
import { createHttpClient } from '../../../src/hub/http.ts';
import { Registry } from '../../../src/log/registry/registry.ts';
import { makeCertificates } from '../../integration/security/support/certificates.ts';

const folder = mkdtempSync(join(tmpdir(), 'rollcall-proxies-'));
afterAll(() => rmSync(folder, { recursive: true }));
const { ca, server: certified } = await makeCertificates(folder);
const VARIABLES = ['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'];
beforeEach(() => {
  for (const name of VARIABLES) vi.stubEnv(name, undefined);
});

async function listening(server: Server | TcpServer): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A forward proxy, and what it was asked for: `CONNECT host:port`, or `GET http://…`. */
async function startProxy(password?: string) {
  const asked: string[] = [];
  const proxy = createProxy();
  if (password !== undefined) {
    const wanted = `Basic ${btoa(`user:${password}`)}`;
    proxy.authenticate = ({ headers }) => headers['proxy-authorization'] === wanted;
  }
  for (const event of ['request', 'connect'])
    proxy.prependListener(event, ({ method, url }: { method: string; url: string }) =>
      asked.push(`${method} ${url}`),
    );
  return { at: await listening(proxy), asked };
}

/** The addresses of two services that answer `[]`, without TLS and with it. */
async function startServices() {
  const tls = { cert: readFileSync(certified.cert), key: readFileSync(certified.key) };
  const answer = (_: unknown, response: { end(text: string): void }) => response.end('[]');
  const [plain, secure] = [createPlainServer(answer), createServer(tls, answer)];
  return [`http://${await listening(plain)}`, `https://${await listening(secure)}`] as const;
}

async function ask(address: string): Promise<number> {
  const certificates = () => ({ ca: readFileSync(ca) });
  await using http = createHttpClient({
    connections: 1,
    requestTimeoutMs: 60_000,
    maxResponseBytes: 1_000,
    certificates,
  });
  const { signal } = new AbortController();
  const url = new URL(`${address}/orgs`);
  const { status } = await http.send({
    method: 'GET',
    url,
    headers: {},
    signal,
    where: url.pathname,
    setting: 'hub.baseUrl',
  });
  return status;
}

it.each([
  ['HTTP_PROXY', 'HTTPS_PROXY'],
  ['http_proxy', 'https_proxy'],
])('requests go through the proxies in %s and %s: those to https:// in a tunnel', async (http, https) => {
  const [plain, secure] = await startServices();
  const [one, other] = [await startProxy(), await startProxy()];
  vi.stubEnv(http, `http://${one.at}`);
  vi.stubEnv(https, `http://${other.at}`);
  expect([await ask(plain), await ask(secure)]).toEqual([200, 200]);
  expect(one.asked).toEqual([`GET ${plain}/orgs`]);
  expect(other.asked).toEqual([`CONNECT ${secure.replace('https://', '')}`]);
});

it('a host that NO_PROXY names is reached without a proxy, and its failures name no proxy', async () => {
  const [plain, secure] = await startServices();
  vi.stubEnv('HTTP_PROXY', 'http://127.0.0.1:1');
  vi.stubEnv('NO_PROXY', 'hub.example, 127.0.0.1');
  expect([await ask(plain), await ask(secure)]).toEqual([200, 200]);
  await expect(ask('http://127.0.0.1:1')).rejects.toMatchObject({
    message: 'Cannot read /orgs: the connection was refused',
  });
});

it('a proxy gets the user name and password in its address', async () => {
  const services = await startServices();
  const proxy = await startProxy('p@ss');
  vi.stubEnv('HTTPS_PROXY', `http://user:p%40ss@${proxy.at}`);
  vi.stubEnv('HTTP_PROXY', `http://user:p%40ss@${proxy.at}`);
  for (const service of services) expect(await ask(service)).toBe(200);
});

it.each(['http', 'https'])('an error for %s:// names the proxy in the way and what to do', async (scheme) => {
  const services = await startServices();
  const service = services[scheme === 'http' ? 0 : 1];
  const variable = `${scheme.toUpperCase()}_PROXY`;
  const proxy = await startProxy('other');
  const failure = async (at: string): Promise<{ code: string; message: string; remedy: string }> => {
    vi.stubEnv(variable, `http://user:S3CRET@${at}`);
    return ask(service).catch((error: unknown) => error as never) as never;
  };
  const wrong = await failure(proxy.at);
  expect([wrong.code, wrong.message]).toEqual([
    'HUB_UNREACHABLE',
    `Cannot read /orgs: the proxy http://${proxy.at} wants another user name or password (HTTP 407)`,
  ]);
  expect(wrong.remedy).toContain(`Set ${variable} to`);
  const down = await failure('127.0.0.1:1');
  expect(down.message).toBe(
    'Cannot read /orgs: the connection through the proxy http://127.0.0.1:1 failed (ECONNREFUSED)',
  );
  expect(down.remedy).toContain(`Check ${variable}`);
  expect(`${wrong.message}${wrong.remedy}${down.message}${down.remedy}`).not.toContain('S3CRET');
});

it('a proxy that never answers holds a request up no longer than a connection may take', async () => {
  vi.stubEnv('HTTPS_PROXY', `http://${await listening(createTcpServer())}`);
  const agent = createHttpAgent({ connectTimeoutMs: 200 });
  onTestFinished(() => agent.destroy());
  const asked = agent.request({ origin: 'https://hub.example', path: '/', method: 'GET' });
  await expect(asked).rejects.toMatchObject({ name: 'ProxyError', code: 'UND_ERR_HEADERS_TIMEOUT' });
});

it('a server behind a proxy whose certificate is not trusted is reported as without a proxy', async () => {
  const [, secure] = await startServices();
  vi.stubEnv('HTTPS_PROXY', `http://${(await startProxy()).at}`);
  const error = await new Registry({ url: secure }).ping().catch((failed: unknown) => failed);
  expect(error).toMatchObject({ remedy: expect.stringContaining('registry.ssl.ca') });
});

it('the registry is reached through a proxy, and a failure names the proxy', async () => {
  const [plain] = await startServices();
  const proxy = await startProxy();
  vi.stubEnv('HTTP_PROXY', `http://${proxy.at}`);
  await new Registry({ url: plain }).ping();
  expect(proxy.asked).toEqual([`GET ${plain}/subjects`]);
  vi.stubEnv('HTTP_PROXY', 'http://127.0.0.1:1');
  await expect(new Registry({ url: plain }).ping()).rejects.toMatchObject({
    code: 'REGISTRY_UNREACHABLE',
    message: expect.stringContaining('the connection through the proxy http://127.0.0.1:1 failed'),
  });
});

it('the program ends, and names the variable, if a variable has an invalid proxy address', () => {
  vi.stubEnv('HTTPS_PROXY', 'user:S3CRET@proxy.example:3128');
  expect(() => new Registry({ url: 'https://registry.example' })).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: 'The environment variable HTTPS_PROXY is not the address of a proxy',
    }),
  );
});
