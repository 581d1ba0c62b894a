import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import type { HubProcess } from './hub-process.ts';

type HubSettings = Pick<HubProcess, 'baseUrl' | 'tokenUrl' | 'clientId' | 'clientSecret'>;

/** Of twenty tenants: the hubs of two do not answer, that of one fails, and one has a wrong secret. */
const SICKNESSES = ['hangs', 'hangs', 'fails', 'refuses'] as const;

/** By the number in the tenant's id; null: it is well. */
export function sicknessOf(tenantId: string): (typeof SICKNESSES)[number] | null {
  return SICKNESSES[Number(/\d+$/.exec(tenantId)?.[0]) % 20] ?? null;
}

/** A server whose hubs do not answer or fail. */
export async function sickHubs(): Promise<
  { url: string; hubOf: (tenantId: string, hub: HubSettings) => HubSettings } & AsyncDisposable
> {
  const server = createServer((request, response) => {
    if (request.url?.includes('/fails/') === true) response.writeHead(500).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    hubOf(tenantId, hub) {
      const sickness = sicknessOf(tenantId);
      if (sickness === 'refuses') return { ...hub, clientSecret: 'wrong' };
      return { ...hub, baseUrl: `${url}/${sickness}/${tenantId}` };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
