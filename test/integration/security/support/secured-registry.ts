import { mkdir, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { freePort } from '../../../../stack/free-port.ts';
import { startArchive } from '../../../../stack/java-archive.ts';
import { findJava } from '../../../../stack/java-tools.ts';
import { fetchParts } from '../../../../stack/local-parts.ts';
import { confluentPath } from '../../../../stack/local-registry.ts';
import { startLocalService } from '../../../../stack/local-service.ts';
import type { Certificates } from './certificates.ts';
import { startTokenIssuer } from './token-issuer.ts';

/** A registry that speaks HTTPS and asks for a user name and a password. */
export interface SecuredRegistry {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts Apicurio, which gives user name and password to an OpenID provider, here one of the test's own. */
export async function startSecuredRegistry(options: {
  readonly folder: string;
  readonly certificates: Certificates;
  readonly password: string;
}): Promise<SecuredRegistry> {
  const { folder, certificates, password } = options;
  await mkdir(folder, { recursive: true });
  const issuer = await startTokenIssuer(password);
  const java = await findJava();
  const { registry } = await fetchParts(['registry'], { print: () => undefined });
  const runner = (await readdir(registry)).find((name) => name.endsWith('-runner.jar')) ?? 'runner.jar';
  const archive = startArchive({ java, folder: registry, name: 'registry' });
  const [port, plainPort] = [await freePort(), await freePort()];
  const properties = {
    'quarkus.http.host': '127.0.0.1',
    'quarkus.http.port': plainPort,
    'quarkus.http.insecure-requests': 'disabled',
    'quarkus.http.ssl-port': port,
    'quarkus.http.ssl.certificate.files': certificates.server.cert,
    'quarkus.http.ssl.certificate.key-files': certificates.server.key,
    'quarkus.log.level': 'WARN',
    'quarkus.banner.enabled': false,
    'registry.auth.enabled': true,
    'registry.auth.basic-auth-client-credentials.enabled': true,
    'registry.auth.basic-auth-client-credentials.cache-expiration': 1,
    'registry.auth.token.endpoint': issuer.tokenUrl,
    'quarkus.oidc.auth-server-url': issuer.url,
  };
  const url = `https://127.0.0.1:${port}${confluentPath}`;
  const dispatcher = new Agent({ connect: { ca: await readFile(certificates.ca) } });
  const service = await startLocalService(
    {
      name: 'a secured registry',
      command: java.path,
      args: [
        '-Xmx256m',
        ...archive.flags.filter((flag) => !flag.startsWith('-XX:ArchiveClassesAtExit=')),
        ...Object.entries(properties).map(([name, value]) => `-D${name}=${value}`),
        '-jar',
        join(registry, runner),
      ],
      folder,
      isReady: async () => {
        const authorization = `Basic ${Buffer.from(`rollcall:${password}`).toString('base64')}`;
        const answer = await request(`${url}/subjects`, { dispatcher, headers: { authorization } }).catch(
          () => null,
        );
        await answer?.body.dump();
        return answer?.statusCode === 200;
      },
      readyTimeoutMs: 120_000,
      stopTimeoutMs: 1,
    },
    new AbortController().signal,
  );
  return {
    url,
    async stop() {
      await service.stop();
      await dispatcher.close();
      await issuer.stop();
    },
  };
}
