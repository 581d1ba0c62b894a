import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** `/containerLogs/<namespace>/<pod>/<container>`, as a kubelet has it. */
const LOGS = /^\/containerLogs\/[^/]+\/([^/]+)\//;

/** Serves the logs of Pods to the API server, which hands them to `helm` and `kubectl logs`. */
export async function serveLogs(
  certificate: { readonly key: string; readonly cert: string },
  logOf: (pod: string) => Promise<string> | undefined,
): Promise<{ readonly port: number; stop(): void }> {
  const server = createServer(certificate, (request, response) => {
    const log = logOf(LOGS.exec(request.url ?? '')?.[1] ?? '');
    if (log === undefined) response.writeHead(404).end();
    else
      void log.then(
        (text) => response.end(text),
        () => response.destroy(),
      );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { port: (server.address() as AddressInfo).port, stop };
}
