import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { pino } from 'pino';
import { EXIT, RollcallError, errorCodeFrom } from '../errors.ts';
import { assemble, type Assembly } from '../pipeline/assemble.ts';
import type { PipelineEvent } from '../pipeline/events.ts';
import {
  PULL_REQUEST,
  pullOutcome,
  type PullOutcome,
  type PullParameters,
} from '../pipeline/pull-request.ts';
import { openSession, passOnce, sleep } from '../pipeline/tenant.ts';
import { keepHeartbeat, notMirrored } from '../pipeline/worker.ts';
import { askOwner } from '../state/ask-owner.ts';
import { kafkaError } from '../publisher/kafka-errors.ts';
import { readKnownProgress } from '../publisher/progress-reader.ts';
import type { OwnerSign, RequestOutcome } from '../state/coordination.ts';
import { livingOwnerProcess } from './owner-process.ts';
import { sourceOf } from '../model/collections.ts';
import { chooseCollection, chooseTenants } from './choose.ts';
import type { Output } from './output.ts';
import type { ProgressLine } from './progress-line.ts';
import { verbAction, type VerbContext } from './verb-action.ts';

const ATTEMPTS = 3;

interface PullFlags {
  readonly tenant?: string | undefined;
  readonly collection?: string[] | undefined;
  readonly full?: boolean | undefined;
  readonly acceptNew?: boolean | undefined;
}

/** `rollcall pull`: one pass now. */
export function pullCommand(): Command {
  return new Command('pull')
    .description(
      'Reads the hub once and publishes what changed. Where a process runs for the tenant, it does the work; ' +
        'otherwise this command owns the tenant meanwhile. Without redis in the configuration it cannot know of a ' +
        'process on another machine: stop that one first.',
    )
    .option('--tenant <id>', 'only this tenant')
    .option('--collection <name...>', 'only these collections')
    .option('--full', 'read everything, not only what changed since the last pass; only this finds removals')
    .option(
      '--accept-new',
      "with --full: quite other rows than before are right, not another tenant's by mistake",
    )
    .addHelpText(
      'after',
      `
Exit codes: 0 done; 1 a collection failed or its list was suspect; 3 something waits for a person.

Examples:
  rollcall pull --full
  rollcall pull --tenant north --collection users enrollments`,
    )
    .action(verbAction<PullFlags>((context, { options }) => pull(context, options)));
}

async function pull(context: VerbContext, flags: PullFlags): Promise<number> {
  const config = context.loadConfig();
  const collections = [...new Set((flags.collection ?? []).map(chooseCollection).map(sourceOf))];
  const parameters: PullParameters = {
    collections,
    full: flags.full ?? false,
    acceptNew: flags.acceptNew ?? false,
  };
  const progress = context.output.progress();
  const tally = new Map<string, string>();
  const emit = (tenant: string, event: PipelineEvent): void =>
    showProgress(progress, { tally, tenant, event });
  await using assembly = assemble(config, { logger: pino({ level: 'silent' }), emit });
  const results: { tenant: string; collections: readonly PullOutcome[] }[] = [];
  for (const { id } of chooseTenants(config, flags.tenant)) {
    const outcomes = await pullTenant(assembly, {
      tenantId: id,
      parameters,
      progress,
      signal: context.signal,
    });
    results.push({ tenant: id, collections: outcomes });
  }
  progress.end();
  for (const { tenant, collections: outcomes } of results) show(context.output, tenant, outcomes);
  context.output.data({ tenants: results });
  return exitCode(
    results.flatMap(({ collections: outcomes }) => outcomes),
    collections.length > 0,
  );
}

interface PullOptions {
  readonly tenantId: string;
  readonly parameters: PullParameters;
  readonly progress: ProgressLine;
  readonly signal: AbortSignal;
}

async function pullTenant(assembly: Assembly, options: PullOptions): Promise<readonly PullOutcome[]> {
  const { tenantId, progress } = options;
  await assembly.store.ready();
  const living = await awaitSign(assembly, options);
  if (living === null) return ownAndPull(assembly, options);
  progress.print(`${tenantId}: asking the process that runs for it (${living.owner})`);
  const outcome = await askLivingOwner(assembly, options);
  if (outcome === null) {
    progress.print(`${tenantId}: it is gone; this command owns the tenant meanwhile`);
    return ownAndPull(assembly, options);
  }
  if (outcome.state === 'done') return outcome.result as readonly PullOutcome[];
  throw new RollcallError(errorCodeFrom(outcome.code), outcome.message, { remedy: outcome.remedy });
}

/** How long a living owner whose sign was lost with Redis takes to leave a new one, and some more. */
const SIGN_WITHIN_MS = 6_000;
const SIGN_POLL_MS = 500;

/**
 * The sign of the process that runs for the tenant; null when none does. Where the log names a process of this
 * machine that lives, its sign is waited for: owning would end it.
 */
async function awaitSign(assembly: Assembly, { tenantId, signal }: PullOptions): Promise<OwnerSign | null> {
  const { coordination } = assembly.store;
  const living = await coordination.livingOwner(tenantId);
  if (living !== null) return living;
  const pid = await lastOwnerProcess(assembly, { tenantId, signal });
  if (pid === null) return null;
  const isShared = assembly.config.redis !== undefined;
  const rounds = isShared ? SIGN_WITHIN_MS / SIGN_POLL_MS : 0;
  for (let round = 0; round < rounds; round += 1) {
    await sleep(SIGN_POLL_MS, signal);
    const sign = await coordination.livingOwner(tenantId);
    if (sign !== null) return sign;
  }
  throw new RollcallError('USAGE_INVALID', `Process ${pid} on this machine runs for tenant ${tenantId}`, {
    remedy: isShared
      ? 'It leaves no sign in Redis: stop it first.'
      : 'Stop it first; or name a redis in the configuration, through which it can be asked to pull.',
  });
}

async function lastOwnerProcess(
  assembly: Assembly,
  { tenantId, signal }: { tenantId: string; signal: AbortSignal },
): Promise<number | null> {
  const admin = assembly.kafka.admin();
  try {
    await admin.connect().catch((error: unknown) => {
      throw kafkaError(error, 'connecting');
    });
    const known = await readKnownProgress({
      kafka: assembly.kafka,
      admin,
      registry: assembly.registry,
      topicPrefix: assembly.config.kafka.topicPrefix,
      tenantIds: [tenantId],
      signal,
    });
    const owner = known.get(tenantId)?.owner ?? null;
    return owner === null ? null : livingOwnerProcess(owner.owner);
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}

/** Null when the owner turns out to live no more: a process that was killed leaves its sign for some seconds. */
async function askLivingOwner(assembly: Assembly, options: PullOptions): Promise<RequestOutcome | null> {
  try {
    return await askOwner({
      coordination: assembly.store.coordination,
      tenantId: options.tenantId,
      request: { id: randomUUID(), kind: PULL_REQUEST, parameters: options.parameters },
      signal: options.signal,
      sleep,
      now: () => performance.now(),
    });
  } catch (error) {
    if (error instanceof RollcallError && error.code === 'OWNERSHIP_LOST') return null;
    throw error;
  }
}

/** Nobody lives there: this process is the owner for as long as the pass takes. */
async function ownAndPull(assembly: Assembly, options: PullOptions): Promise<readonly PullOutcome[]> {
  const { tenantId, parameters, signal } = options;
  const { parts } = assembly.tenant(tenantId);
  const mirrored = parts.collections.map(({ name }) => name);
  const wanted = parameters.collections.length > 0 ? parameters.collections : mirrored;
  const missing = wanted.find((name) => !mirrored.includes(name));
  if (missing !== undefined) throw notMirrored(missing);
  const ending = new AbortController();
  const ownedSinceMs = Date.now();
  const heartbeat = keepHeartbeat(assembly, {
    tenantId,
    sign: () => ({ ownedSinceMs, notOffered: [] }),
    signal: AbortSignal.any([signal, ending.signal]),
  });
  try {
    const mode = parameters.full ? 'FULL' : 'DELTA';
    for (let attempt = 1; ; attempt += 1) {
      const session = await openSession(parts, signal);
      const settled = await passOnce(session, {
        collections: wanted,
        mode,
        acceptNew: parameters.acceptNew,
        signal,
      });
      signal.throwIfAborted();
      // What befalls log or index is cured by owning again; nothing that was committed is published twice.
      const isUncertain = settled.some(
        ({ error }) => error instanceof RollcallError && error.reaction === 'restart',
      );
      if (isUncertain && attempt < ATTEMPTS) continue;
      return settled.map(({ collection, ...result }) => pullOutcome(collection, result));
    }
  } finally {
    ending.abort();
    await heartbeat;
    await assembly.store.coordination.withdraw(tenantId, assembly.owner).catch(() => undefined);
  }
}

function showProgress(
  progress: ProgressLine,
  at: { tally: Map<string, string>; tenant: string; event: PipelineEvent },
): void {
  const { tally, tenant, event } = at;
  if (event.type === 'pass-page') {
    tally.set(event.collection, `${event.collection} ${event.stats.rowsSeen}`);
  } else if (event.type === 'pass-ended' || event.type === 'pass-failed') {
    tally.delete(event.collection);
  } else {
    return;
  }
  if (tally.size > 0) progress.update(`${tenant}: reading ${[...tally.values()].join(' · ')}`);
}

function show(output: Output, tenant: string, outcomes: readonly PullOutcome[]): void {
  output.line(output.colors.bold(tenant));
  output.table(
    [
      { title: 'collection' },
      { title: 'outcome' },
      ...['seen', 'created', 'updated', 'removed', 'rejected', 'withheld'].map((title) => ({
        title,
        align: 'right' as const,
      })),
    ],
    outcomes.map((each) => [
      each.collection,
      each.outcome === 'complete' ? `${each.mode?.toLowerCase()} ${each.outcome}` : each.outcome,
      ...[each.seen, each.created, each.updated, each.removed, each.rejected, each.withheld].map(String),
    ]),
  );
  for (const [trouble, collections] of troubles(outcomes))
    output.note(`✗ ${collections.join(', ')}: ${trouble}`);
}

/** What went wrong and what to do, with the collections it befell: one cause often stops all of them. */
export function troubles(outcomes: readonly PullOutcome[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { collection, outcome, why, remedy } of outcomes) {
    if (why === null && remedy === null) continue;
    const what = why ?? outcome;
    const trouble = remedy === null ? what : `${what}\n→ ${remedy}`;
    found.set(trouble, [...(found.get(trouble) ?? []), collection]);
  }
  return found;
}

function exitCode(outcomes: readonly PullOutcome[], named: boolean): number {
  if (outcomes.some(({ outcome }) => outcome === 'failed' || outcome === 'suspect')) return EXIT.failed;
  // That a hub does not offer some collection is no failure, unless it was asked for; all of them are a wrong address.
  const notOffered = outcomes.filter(({ outcome }) => outcome === 'not-offered');
  if (notOffered.length === outcomes.length || (named && notOffered.length > 0)) return EXIT.failed;
  return outcomes.some(({ outcome, withheld }) => outcome === 'stopped' || withheld > 0)
    ? EXIT.needsPerson
    : EXIT.ok;
}
