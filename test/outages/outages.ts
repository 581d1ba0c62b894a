import { writeFile } from 'node:fs/promises';
import type { ReferenceHub } from '../../reference-hub/start-reference-hub.ts';
import { StackError } from '../../stack/errors.ts';
import type { LocalService } from '../../stack/local-service.ts';
import type { Stack } from '../../stack/start-stack.ts';
import type { Proxy } from '../faults/support/proxy.ts';

/** Something that an operator may meet. */
export interface Outage {
  readonly name: string;
  begin(): Promise<void> | void;
  end(): Promise<void> | void;
}

export interface OutageParts {
  readonly hub: ReferenceHub;
  /** Between Rollcall and the hub. */
  readonly toHub: Proxy;
  readonly stack: Stack;
  /** The file with the hub's client secret. */
  readonly secretFile: string;
}

/** Longer than the hub's client waits for an answer to begin. */
const SLOW_MS = 15_000;

/** Every outage of the table, in its order. */
export function outagesOf({ hub, toHub, stack, secretFile }: OutageParts): readonly Outage[] {
  return [
    { name: 'hub away', begin: () => toHub.cut(), end: () => toHub.mend() },
    { name: 'hub slow', begin: () => toHub.slow({ latencyMs: SLOW_MS }), end: () => toHub.mend() },
    {
      name: 'wrong secret',
      async begin() {
        await writeFile(secretFile, 'wrong');
        hub.tokens.revokeAll();
      },
      end: () => writeFile(secretFile, hub.clientSecret),
    },
    ...outagesOfService('Kafka', serviceIn(stack, 'kafka')),
    ...outagesOfService('Redis', serviceIn(stack, 'redis')),
    ...outagesOfService('registry', serviceIn(stack, 'registry')),
  ];
}

function outagesOfService(name: string, service: LocalService): readonly Outage[] {
  return [
    { name: `${name} away`, begin: () => service.kill('SIGKILL'), end: () => service.restart() },
    { name: `${name} frozen`, begin: () => service.kill('SIGSTOP'), end: () => service.kill('SIGCONT') },
  ];
}

/** Throws `StackError` unless the service runs as a process that may be killed. */
function serviceIn(stack: Stack, name: keyof Stack['processes']): LocalService {
  const service = stack.processes[name];
  if (service !== undefined) return service;
  throw new StackError(`${name} runs as ${stack.kind[name]}, so it cannot be taken away: unset its variable`);
}
