import { Command } from 'commander';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { ENCRYPT, UNENCRYPTED, unencrypted } from '../config/clear-text.ts';
import { describeError } from '../errors.ts';
import { giveBackMemory } from './give-back-memory.ts';
import { EXIT } from './exit-code.ts';
import { assemble, type Assembly } from '../session/assemble.ts';
import { pingKafka } from '../log/kafka-client.ts';
import { runWorker, type WorkerOptions } from '../worker/worker.ts';
import type { PipelineEvent } from '../core/pipeline-events.ts';
import { Board } from '../telemetry/board.ts';
import { startStatusServer } from '../telemetry/http-server.ts';
import { createLogger, logLevelFrom, openLogDestination } from '../telemetry/logger.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { notify } from '../telemetry/notify.ts';
import { createEventLog } from '../telemetry/log-events.ts';
import { logFirstLoads } from '../telemetry/log-first-loads.ts';
import { commandsHere } from '../commands-here.ts';
import { forTerminal, pageOn } from './help.ts';
import { packageVersion } from './package-version.ts';
import { watchService, type WatchedService } from '../telemetry/watch-service.ts';
import { verbAction, type Verb } from './verb-action.ts';
import { watchConfig } from './watch-config.ts';

/** The contract's limit for ending after SIGTERM, minus the time to close the process itself. */
const STOP_WITHIN_MS = 28_000;
/** The width of help that the status page links to. */
const HELP_COLUMNS = 100;

/** `rollcall run`: mirrors the tenants that are assigned to this process. It runs until SIGTERM. */
export function command(): Command {
  return new Command('run')
    .description(
      'Mirrors the tenants of the configuration until a signal stops it. When a service is unavailable, it waits and tries again. Several processes share the tenants.',
    )
    .addHelpText(
      'after',
      `
On http.host:http.port it serves a status page at /, the same data at /status.json, and /livez, /readyz and /metrics.
On a terminal it prints a line for each sync that changes something. Elsewhere it logs JSON lines.
ROLLCALL_LOG_LEVEL sets the lowest level that it logs: debug, info (the default), warn or error.
When you edit the configuration, it adds, changes and removes tenants within seconds, or at once after SIGHUP.

Exit codes: 0 stopped by SIGTERM or SIGINT, within 30 s; 1 every tenant of the configuration was assigned to it, and all of them failed; 2 the configuration has mistakes.`,
    )
    .action(verbAction(run));
}

async function run({ host, output, signal, openConfig }: Verb): Promise<number> {
  const configFile = openConfig();
  const { config } = configFile;
  const destination = openLogDestination(host.stdout, output.colors.isColorSupported);
  const logger = createLogger({ level: logLevelFrom(host.env), destination });
  const giveUp = (): void => {
    logger.error(
      'the process could not close everything in time; the next start reads again what was not committed',
    );
    process.exit(EXIT.ok);
  };
  let stopping: NodeJS.Timeout | undefined;
  signal.addEventListener('abort', () => (stopping = setTimeout(giveUp, STOP_WITHIN_MS).unref()));
  const board = new Board(configFile, {
    version: packageVersion,
    now: () => Date.now(),
    read: (tenantIds, facts) => assembly.store.coordination.livingOwners(tenantIds, facts),
  });
  const registry = new Registry();
  const count = createMetrics(registry, board, { process: true });
  const help = (topic: string) => commandsHere(forTerminal(pageOn(topic), HELP_COLUMNS));
  const server = await startStatusServer({ ...config.http, board, metrics: registry, help });
  logger.info({ host: config.http.host, port: server.port }, 'probes and metrics are served');
  for (const setting of unencrypted(config)) logger.warn({ remedy: ENCRYPT }, `${setting}: ${UNENCRYPTED}`);
  const log = createEventLog(logger);
  const emit = (tenant: string, event: PipelineEvent): void => {
    count(tenant, event);
    log(tenant, event, board.note(tenant, event));
  };
  const assembly = assemble(config, emit);
  using _memory = giveBackMemory();
  using _loads = logFirstLoads(board, logger);
  const ended = new AbortController();
  const watched = servicesOf(assembly).map((service) =>
    watchService(service, { board, logger, signal: ended.signal }),
  );
  // Whatever happens to notices, the mirror goes on.
  const notifying = notify(config, { board, metrics: registry, logger, signal: ended.signal });
  watched.push(notifying.catch((error: unknown) => logger.error({ error }, describeError(error))));
  try {
    await runWorker(assembly, {
      signal,
      factsOf: (tenant) => board.heartbeatOf(tenant),
      followConfig: (onChanged) => watchConfig(configFile, { board, logger, onChanged }),
      ...groupLog(board, logger),
    });
    logger.info('stopped');
    return EXIT.ok;
  } catch (error) {
    board.stop(describeError(error));
    logger.fatal({ error }, describeError(error));
    throw error;
  } finally {
    board.stop(null);
    ended.abort();
    await Promise.all(watched);
    await assembly[Symbol.asyncDispose]();
    await server.close();
    clearTimeout(stopping);
  }
}

/**
 * Shows on the board, and logs, which tenants the group of the workers assigns to this process, and what is wrong
 * with the group.
 */
function groupLog(board: Board, logger: Logger): Pick<WorkerOptions, 'onAssigned' | 'onTrouble'> {
  let lastCode: string | null = null;
  return {
    onAssigned: (tenants) => {
      board.showTenants(tenants);
      lastCode = null;
      const of = board.configured.length;
      const what = `${tenants.length === 0 ? 'no tenant is' : 'tenants are'} assigned to this process`;
      logger.info({ tenants: tenants.length, of }, what);
    },
    onTrouble: (error) => {
      board.reportNoGroup({ why: describeError(error), remedy: error.remedy });
      if (error.code !== lastCode) logger.warn({ error }, describeError(error));
      lastCode = error.code;
    },
  };
}

function servicesOf({ config, kafka, registry, store }: Assembly): readonly WatchedService[] {
  const redis: WatchedService = { part: 'redis', name: 'Redis', ping: () => store.ready() };
  return [
    ...(config.redis === undefined ? [] : [redis]),
    { part: 'kafka', name: 'Kafka', ping: () => pingKafka(kafka), refusal: 'KAFKA_REFUSED' },
    {
      part: 'registry',
      name: 'the schema registry',
      ping: () => registry.ping(),
      refusal: 'REGISTRY_REFUSED',
      meanwhile:
        'Meanwhile Rollcall publishes with the schemas that it knows. Consumers may be unable to decode records.',
    },
  ];
}
