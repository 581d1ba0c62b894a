import { createRequire } from 'node:module';
import type { Agent, Dispatcher } from 'undici';

// undici's index also loads its mocks, caches, proxies and, for these, Node's own fetch: at each start some 80 ms of CPU
// time, and 15 MB that stay. This loads what Rollcall uses. Their public types hold for these modules, too.
const require = createRequire(import.meta.url);
const UndiciAgent = require('undici/lib/dispatcher/agent') as typeof Agent;
const request = require('undici/lib/api/api-request') as Agent['request'];

/** Connections to one server or a few. */
export interface HttpAgent {
  request(options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>;
  /** Aborts running requests. */
  destroy(): Promise<void>;
}

export function createHttpAgent(options: Agent.Options): HttpAgent {
  const agent = new UndiciAgent(options);
  return {
    request: (of) => request.call(agent, of) as Promise<Dispatcher.ResponseData>,
    destroy: () => agent.destroy(),
  };
}
