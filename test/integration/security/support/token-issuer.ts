import { createSign, generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The part of an OpenID provider that a registry needs: its keys, and tokens for the client `rollcall` (OAuth 2). */
export interface TokenIssuer {
  readonly url: string;
  readonly tokenUrl: string;
  stop(): Promise<void>;
}

const CLIENT = 'rollcall';

export async function startTokenIssuer(secret: string): Promise<TokenIssuer> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k', use: 'sig', alg: 'RS256' };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { status, body } = answer(request.url ?? '', Buffer.concat(chunks).toString(), request.headers);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const endpoints = {
    issuer: url,
    jwks_uri: `${url}/keys`,
    token_endpoint: `${url}/token`,
    authorization_endpoint: `${url}/authorize`,
    id_token_signing_alg_values_supported: ['RS256'],
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
  };

  function answer(path: string, form: string, headers: { authorization?: string | undefined }) {
    if (path.startsWith('/.well-known')) return { status: 200, body: endpoints };
    if (path.startsWith('/keys')) return { status: 200, body: { keys: [jwk] } };
    const fields = new URLSearchParams(form);
    const basic = Buffer.from(`${CLIENT}:${secret}`).toString('base64');
    const isRight =
      headers.authorization === `Basic ${basic}` ||
      (fields.get('client_id') === CLIENT && fields.get('client_secret') === secret);
    if (!isRight) return { status: 401, body: { error: 'invalid_client' } };
    return { status: 200, body: { access_token: token(), token_type: 'Bearer', expires_in: 300 } };
  }

  function token(): string {
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: url,
      sub: CLIENT,
      azp: CLIENT,
      preferred_username: CLIENT,
      iat: now,
      exp: now + 300,
    };
    const text = [{ alg: 'RS256', typ: 'JWT', kid: 'k' }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey, 'base64url')}`;
  }

  return {
    url,
    tokenUrl: endpoints.token_endpoint,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
