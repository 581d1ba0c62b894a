import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { COLLECTIONS, startTestTenant, type TestTenant } from './support/mirrored-tenant.ts';
import { rollcall } from './support/rollcall.ts';

const REFUSAL = { error_code: 42205, message: 'Subject is in read-only mode' };

/**
 * The registry of the tests in read-only mode. It has no such mode itself, so what stands before it answers every write
 * as Confluent's does, and passes what only looks up.
 */
async function startReadOnlyRegistry() {
  const behind = inject('stack').registryUrl;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = 'GET', url = '' } = request;
      const answer = (status: number, body: string) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(body);
      if (url.startsWith('/mode')) {
        answer(200, JSON.stringify({ mode: 'READONLY' }));
        return;
      }
      const isWrite =
        method === 'PUT' ||
        method === 'DELETE' ||
        (method === 'POST' && /^\/subjects\/[^/]+\/versions$/.test(url));
      if (isWrite) {
        answer(422, JSON.stringify(REFUSAL));
        return;
      }
      const body = method === 'GET' ? {} : { body: Buffer.concat(chunks) };
      const headers = { 'content-type': 'application/vnd.schemaregistry.v1+json' };
      void fetch(`${behind}${url}`, { method, headers, ...body }).then(
        async (from) => answer(from.status, await from.text()),
        () => answer(502, 'null'),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, close: () => new Promise((resolve) => server.close(resolve)) };
}

describe('a registry in read-only mode', () => {
  let tenant: TestTenant;
  let registry: Awaited<ReturnType<typeof startReadOnlyRegistry>>;
  beforeAll(async () => {
    [tenant, registry] = await Promise.all([startTestTenant(), startReadOnlyRegistry()]);
    await tenant.sync('FULL', COLLECTIONS);
  });
  afterAll(async () => {
    await registry.close();
    await tenant[Symbol.asyncDispose]();
  });

  it('suffices where the subjects and levels are as they should be, and check says so', async () => {
    const config = tenant.configWith({ registryUrl: registry.url });
    expect(await rollcall(config, 'pull')).toMatchObject({ code: 0 });
    expect((await rollcall(config, 'check')).stdout).toContain('registered, none known to be incompatible');
  });

  it('is named, by pull and by check, where a schema must be registered', async () => {
    const config = tenant.configWith({ registryUrl: registry.url, collections: '[orgs, classes]' });
    const says =
      /registry is read-only, and \S+\.north\.classes-value needs a change there[^\n]*\n *→ Set the mode that GET/;
    const pull = await rollcall(config, 'pull');
    expect(pull.code).toBe(1);
    expect(pull.stderr).toMatch(says);
    const check = await rollcall(config, 'check');
    expect(check.code).toBe(1);
    expect(check.stdout).toMatch(says);
  });
});
