import { loadConfig, type Config } from '../src/config.ts';
import { describeError } from '../src/errors.ts';
import { assemble } from '../src/session/assemble.ts';
import type { StartedTenant } from '../src/session/started-tenant.ts';
import { TenantRun } from '../src/worker/tenant-run.ts';
import type { ReferenceHub } from '../reference-hub/start-reference-hub.ts';
import type { Stack } from '../stack/start-stack.ts';
import { Progress } from './progress.ts';

export const TENANT = 'north';

export interface MirrorOptions {
  readonly stack: Stack;
  readonly hub: ReferenceHub;
  /** Of the topics, and of the keys in Redis. */
  readonly prefix: string;
  /** Further settings of the tenant, one a line. */
  readonly settings?: readonly string[];
  readonly signal: AbortSignal;
  /** Called with each failure. Rollcall tries again after it. */
  readonly onFailure: (failure: string) => void;
}

/** A hub that Rollcall mirrors in this process, until it is disposed of. */
export interface MirroredHub extends AsyncDisposable {
  readonly tenant: StartedTenant;
  readonly run: TenantRun;
  readonly progress: Progress;
  /** Rejects when Rollcall no longer mirrors the hub. */
  readonly over: Promise<never>;
}

/** Has Rollcall mirror a hub into the topics `<prefix>.north.*`. Resolves when the topics exist. */
export async function mirrorHub(options: MirrorOptions): Promise<MirroredHub> {
  const opened = Promise.withResolvers<void>();
  const ended = new AbortController();
  let progress: Progress | null = null;
  await using parts = new AsyncDisposableStack();
  const assembly = parts.use(
    assemble(configFor(options), (_tenant, event) => {
      progress?.note(event);
      if (event.type === 'session-opened') opened.resolve();
      if (ended.signal.aborted) return;
      if (event.type === 'session-failed') options.onFailure(describeError(event.error));
      if (event.type === 'sync-failed')
        options.onFailure(`${event.collection}: ${describeError(event.error)}`);
    }),
  );
  const tenant = parts.use(assembly.tenant(TENANT));
  progress = new Progress(tenant.collections.map(({ name }) => name));
  const run = new TenantRun(tenant);
  const over = run.mirror(AbortSignal.any([options.signal, ended.signal])).then((failure) => {
    throw failure ?? new Error('interrupted');
  });
  const isOver = over.catch(() => undefined);
  parts.defer(async () => {
    ended.abort();
    await isOver;
  });
  await Promise.race([opened.promise, over]);
  const kept = parts.move();
  return { tenant, run, progress, over, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

function configFor({ stack, hub, prefix, settings = [] }: MirrorOptions): Config {
  const yaml = `
tenants:
  - id: ${TENANT}
    hub: { baseUrl: "${hub.baseUrl}", tokenUrl: "${hub.tokenUrl}", clientId: "${hub.clientId}", clientSecret: "${hub.clientSecret}" }
    incrementalEvery: 2s
${settings.map((setting) => `    ${setting}\n`).join('')}
kafka: { brokers: ["${stack.kafkaBrokers.join('", "')}"], topicPrefix: "${prefix}", replicationFactor: ${stack.replicationFactor} }
registry: { url: "${stack.registryUrl}" }
redis: { url: "${stack.redisUrl}", keyPrefix: "${prefix}" }
`;
  return loadConfig({ path: prefix, env: {}, readFile: () => yaml });
}
