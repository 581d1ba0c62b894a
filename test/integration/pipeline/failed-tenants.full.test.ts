import { Registry } from 'prom-client';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { ConfigFile } from '../../../src/config/config-file.ts';
import { packageVersion } from '../../../src/cli/package-version.ts';
import { assemble } from '../../../src/session/assemble.ts';
import { Board } from '../../../src/telemetry/board.ts';
import { createEventLog } from '../../../src/telemetry/log-events.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { runWorker } from '../../../src/worker/worker.ts';
import { configTextOf, newTopicPrefix, startTestHub } from '../support/mirror.ts';
import { createTopic, deleteTopicsOf } from './kafka-admin.ts';
import { setTopicSettings } from './recreate-topic.ts';
import { startRollcall } from './rollcall-process.ts';

const RETRY_MS = 2_000;
const WITHIN_MS = 80_000;
const MISFIT = '604800000';
const FITTING = '86400000';

let hub: ReferenceHub;
let topicPrefix: string;

beforeAll(async () => {
  hub = await startTestHub();
});
beforeEach(() => {
  topicPrefix = newTopicPrefix();
  return () => deleteTopicsOf(topicPrefix);
});
afterAll(() => hub.stop());

/** Two tenants, north and south, of one hub. */
function configText(): string {
  const config = JSON.parse(configTextOf(hub, topicPrefix, { collections: ['users', 'orgs'] })) as {
    tenants: [object];
  };
  const [north] = config.tenants;
  return JSON.stringify({ ...config, tenants: [north, { ...north, id: 'south' }] });
}

async function createMisfit(tenant: string): Promise<string> {
  const topic = `${topicPrefix}.${tenant}.users`;
  const settings = { 'cleanup.policy': 'compact', 'delete.retention.ms': '604800000', 'segment.ms': MISFIT };
  const configEntries = Object.entries({ ...settings, 'max.compaction.lag.ms': FITTING });
  await createTopic({
    topic,
    numPartitions: 3,
    configEntries: configEntries.map(([name, value]) => ({ name, value })),
  });
  return topic;
}

/** The parts of `rollcall run`, with a short pause before a failed tenant is tried again. */
async function running(work: (world: ReturnType<typeof worldOf>) => Promise<void>): Promise<void> {
  const world = worldOf();
  await using assembly = assemble(world.config, { logger: world.logger, emit: world.emit });
  const stop = new AbortController();
  const ended = runWorker(assembly, {
    signal: stop.signal,
    factsOf: (tenant) => world.board.heartbeatOf(tenant),
    retryFailedMs: RETRY_MS,
    onAssigned: (tenants) => world.board.hold(tenants),
  });
  ended.catch(() => undefined);
  try {
    await work(world);
  } finally {
    stop.abort();
    await ended;
  }
}

function worldOf() {
  const file = new ConfigFile({ path: 'rollcall.yaml', env: {}, readFile: configText });
  const { config } = file;
  const board = new Board(file, { version: packageVersion(), now: () => Date.now() });
  const metrics = new Registry();
  const count = createMetrics(metrics, board, { process: false });
  const lines: string[] = [];
  const logger = createLogger({ level: 'info', destination: { write: (line: string) => lines.push(line) } });
  const log = createEventLog(logger);
  const emit: Parameters<typeof assemble>[1]['emit'] = (tenant, event) => {
    count(tenant, event);
    log(tenant, event, board.note(tenant, event));
  };
  const headlineOf = (tenant: string): string | undefined =>
    board.tenants.find((each) => each.tenant === tenant)?.status().headline;
  return { config, board, metrics, lines, logger, emit, headlineOf };
}

async function verb(arguments_: readonly string[], code: number): Promise<string> {
  await using child = await startRollcall([...arguments_], configText());
  await child.endsWith(code);
  return child.output();
}

describe('a tenant whose topic does not fit', () => {
  it('fails alone, is shown everywhere, and is mirrored once the topic is mended, without a restart', async () => {
    const topic = await createMisfit('south');
    await running(async ({ board, metrics, lines, headlineOf }) => {
      const failed = 'failed: KAFKA_TOPIC_MISMATCH: Topics differ from the contract';
      await vi.waitFor(() => expect(headlineOf('south')).toContain(failed), WITHIN_MS);
      await vi.waitFor(() => expect(headlineOf('north')).toBe('all well'), WITHIN_MS);
      // The process is ready, as one of its tenants is.
      expect(board.reasons()).toEqual([]);
      expect(JSON.stringify(await board.json())).toContain(failed);
      expect(await metrics.metrics()).toContain('rollcall_ready{tenant="south",part="failed"} 0');
      expect(await metrics.metrics()).toContain('rollcall_ready{tenant="north",part="failed"} 1');
      const logged = lines.filter((line) => line.includes('KAFKA_TOPIC_MISMATCH'));
      expect(logged).toHaveLength(1);
      expect(logged[0]).toContain(`"retryInMs":${RETRY_MS}`);
      // The heartbeat may be some seconds old.
      const says = async () => expect(await verb(['status'], 1)).toContain(`south  ${failed}`);
      await vi.waitFor(says, WITHIN_MS);
      const wrong = await verb(['status', '--wrong'], 1);
      expect(wrong).toMatch(/^2 tenants: 1 in trouble, 1 well$/m);
      expect(wrong).not.toContain('north  all well');
      expect(await verb(['pull', '--tenant', 'south'], 1)).toContain(`segment.ms is ${MISFIT}`);
      await setTopicSettings(topic, { 'segment.ms': FITTING });
      await vi.waitFor(() => expect(headlineOf('south')).toBe('all well'), WITHIN_MS);
      expect(await metrics.metrics()).toContain('rollcall_ready{tenant="south",part="failed"} 1');
    });
  });

  it('ends the process with 1 when every other tenant has failed as well', async () => {
    await createMisfit('north');
    await createMisfit('south');
    expect(await verb(['run'], 1)).toContain('(KAFKA_TOPIC_MISMATCH)');
  });
});
