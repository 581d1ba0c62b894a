import { Command } from 'commander';
import { collectionSettings, enabledCollections, type TenantConfig } from '../config.ts';
import { describeError, EXIT } from '../errors.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Assembly } from '../pipeline/assemble.ts';
import { readKnownProgress, type KnownProgress } from '../publisher/progress-reader.ts';
import { chooseTenants } from './choose.ts';
import type { Output } from './output.ts';
import { tenantStatus, type CollectionStatus, type TenantStatus } from './status/tenant-status.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { withAdmin, withAssembly } from './with-assembly.ts';
import { formatAge, formatCount, isoOrNull, printable } from './words.ts';

interface StatusFlags {
  tenant?: string;
}

/** `rollcall status`: whether everything is right, from the topics and the index; asks nothing of the hub. */
export function statusCommand(): Command {
  return new Command('status')
    .description(
      'Shows how far each collection is and whether something waits for a person.\n' +
        'Read from the progress topics and Redis: it works while the hub or Redis is away.',
    )
    .option('--tenant <id>', 'of this tenant only')
    .addHelpText(
      'after',
      `
  rows        as of the last complete full pass
  last full   when that began, by the hub's clock
  up to       everything the hub changed before then is published
  pass        the last pass, "…" while it is under way, "!" when it did not come to its end and nobody is at it,
              and what it has seen, published and removed so far
  withheld    deletions that wait for a person; where the index has forgotten them, as the log tells
  rejects     rows that cannot be read (see "rollcall tail rejects --from-beginning")

Ends with 3 when something is withheld, else with 0.`,
    )
    .action(verbAction(status));
}

async function status(context: VerbContext, { options }: VerbInput<StatusFlags>): Promise<number> {
  const { output, signal } = context;
  const config = context.loadConfig();
  const tenants = chooseTenants(config, options.tenant);
  return withAssembly(config, async (assembly) => {
    const known = await withAdmin({ assembly, signal }, (admin) =>
      readKnownProgress({
        kafka: assembly.kafka,
        admin,
        registry: assembly.registry,
        topicPrefix: config.kafka.topicPrefix,
        tenantIds: tenants.map(({ id }) => id),
        signal,
      }),
    );
    const index = await askIndex(assembly, tenants);
    const nowMs = Date.now();
    const statuses = tenants.map((tenant) =>
      tenantStatus(
        factsOf(tenant, { known: known.get(tenant.id) ?? null, index: index.tenants.get(tenant.id), nowMs }),
      ),
    );
    for (const each of statuses) showTenant(output, each, nowMs);
    if (index.trouble !== null) output.line(`${output.colors.yellow('!')} ${index.trouble}`);
    // A pass that was stopped or doubted goes no further by itself either.
    const needsPerson = statuses.some(({ state }) => state === 'needs-person' || state === 'unfinished');
    output.data({ needsPerson, indexTrouble: index.trouble, tenants: statuses.map(asJson) });
    return needsPerson ? EXIT.needsPerson : EXIT.ok;
  });
}

interface IndexFacts {
  readonly isOwnerAlive: boolean;
  readonly notOffered: readonly string[];
  readonly withheld: ReadonlyMap<CollectionName, number>;
  readonly committedAtMs: ReadonlyMap<CollectionName, number | null>;
}

interface AskedIndex {
  /** Why the index could not be asked; null when it could. */
  readonly trouble: string | null;
  readonly tenants: ReadonlyMap<string, IndexFacts>;
}

async function askIndex(assembly: Assembly, tenants: readonly TenantConfig[]): Promise<AskedIndex> {
  const found = new Map<string, IndexFacts>();
  if (assembly.config.redis === undefined) {
    return {
      trouble:
        'no Redis is configured: whether a process is running, and what it withholds, is known only from the last full pass',
      tenants: found,
    };
  }
  try {
    for (const tenant of tenants) {
      const state = assembly.store.tenant(tenant.id);
      const withheld = new Map<CollectionName, number>();
      const committedAtMs = new Map<CollectionName, number | null>();
      for (const { name } of enabledCollections(tenant)) {
        withheld.set(name, (await state.deletions.withheld(name)).size);
        committedAtMs.set(name, (await state.collection(name).position())?.committedAtMs ?? null);
      }
      const owner = await assembly.store.coordination.livingOwner(tenant.id);
      const notOffered = (owner?.info['notOffered'] ?? '').split(' ').filter((name) => name !== '');
      found.set(tenant.id, { isOwnerAlive: owner !== null, notOffered, withheld, committedAtMs });
    }
    return { trouble: null, tenants: found };
  } catch (error) {
    return {
      trouble: `${describeError(error)}; what is withheld is as the log tells it, and whether a process is running is unknown`,
      tenants: found,
    };
  }
}

function factsOf(
  tenant: TenantConfig,
  parts: { known: KnownProgress | null; index: IndexFacts | undefined; nowMs: number },
) {
  const { known, index, nowMs } = parts;
  return {
    tenant: tenant.id,
    deltaOverlapMs: tenant.deltaOverlapMs,
    owner: known?.owner ?? null,
    isOwnerAlive: index?.isOwnerAlive ?? null,
    notOffered: index?.notOffered ?? [],
    nowMs,
    collections: enabledCollections(tenant).map(({ name, keyset }) => {
      const { deltaEveryMs, fullPull } = collectionSettings(tenant, name);
      return {
        collection: name,
        hasDelta: keyset,
        deltaEveryMs,
        fullPull,
        progress: known?.progress.get(name) ?? null,
        withheldInIndex: index?.withheld.get(name) ?? null,
        committedAtMs: index?.committedAtMs.get(name) ?? null,
      };
    }),
  };
}

const PAINT = {
  'needs-person': { mark: '✗', color: 'red' },
  'not-mirrored': { mark: '!', color: 'yellow' },
  loading: { mark: '!', color: 'yellow' },
  unfinished: { mark: '!', color: 'yellow' },
  late: { mark: '!', color: 'yellow' },
  well: { mark: '✓', color: 'green' },
} as const;

function showTenant(output: Output, status: TenantStatus, nowMs: number): void {
  const { colors } = output;
  const { mark, color } = PAINT[status.state];
  output.line(`${colors[color](mark)} ${colors.bold(status.tenant)}  ${colors[color](status.headline)}`);
  if (status.owner !== null) output.line(`  ${ownerLine(status, nowMs)}`);
  const remedy = remedyOf(status);
  if (remedy !== null) output.line(`  ${colors.cyan('→')} ${remedy}`);
  output.line();
  if (status.state === 'not-mirrored') return;
  output.table(
    [
      { title: '  collection' },
      { title: 'rows', align: 'right' },
      { title: 'last full', align: 'right' },
      { title: 'up to', align: 'right' },
      { title: 'pass' },
      { title: 'seen', align: 'right' },
      { title: 'published', align: 'right' },
      { title: 'removed', align: 'right' },
      { title: 'withheld', align: 'right' },
      { title: 'rejects', align: 'right' },
    ],
    status.collections.map((each) => row(output, each, nowMs)),
  );
  output.line();
}

function remedyOf({ state, collections }: TenantStatus): string | null {
  if (state === 'unfinished') {
    return '"rollcall pull" reads again and tells what is wrong; where a process runs, its log does.';
  }
  if (state !== 'needs-person') return null;
  if (collections.some(({ withheld, withheldBy }) => withheld > 0 && withheldBy === 'log')) {
    return 'The index does not tell which rows: look whether the hub has really lost so many before the next full pass.';
  }
  return 'Look whether the hub has really lost these rows; nothing of them is removed until somebody decides.';
}

function row({ colors }: Output, each: CollectionStatus, nowMs: number): string[] {
  const aged = (text: string): string => (each.late === null ? text : colors.yellow(text));
  return [
    `  ${each.collection}`,
    each.rows === null ? '-' : formatCount(each.rows),
    aged(formatAge(each.lastCompleteFullMs, nowMs)),
    aged(formatAge(each.watermarkMs, nowMs)),
    ...passCells(each, colors.yellow),
    each.withheld === 0 ? '0' : colors.red(formatCount(each.withheld)),
    each.rejected === 0 ? '0' : colors.yellow(formatCount(each.rejected)),
  ];
}

function passCells({ pass, unfinished }: CollectionStatus, warn: (text: string) => string): string[] {
  if (pass === null) return ['-', '-', '-', '-'];
  const name = pass.mode === 'FULL' ? 'full' : 'delta';
  return [
    pass.complete ? name : unfinished ? warn(`${name} !`) : `${name} …`,
    formatCount(pass.seen),
    formatCount(pass.published),
    formatCount(pass.removed),
  ];
}

function ownerLine({ owner, isOwnerAlive }: TenantStatus, nowMs: number): string {
  const name = printable(owner?.owner ?? '');
  const since = formatAge(owner?.ownedSinceMs ?? null, nowMs);
  if (isOwnerAlive === null) return `last taken over by ${name}, ${since}`;
  return isOwnerAlive
    ? `run by ${name}, taken over ${since}`
    : `not running; last taken over by ${name}, ${since}`;
}

function asJson(status: TenantStatus): Record<string, unknown> {
  const { owner, collections, ...same } = status;
  return {
    ...same,
    owner: owner === null ? null : { owner: owner.owner, since: isoOrNull(owner.ownedSinceMs) },
    collections: collections.map(asJsonCollection),
  };
}

function asJsonCollection(status: CollectionStatus): Record<string, unknown> {
  const { lastCompleteFullMs, watermarkMs, pass, ...same } = status;
  return {
    ...same,
    lastCompleteFull: isoOrNull(lastCompleteFullMs),
    watermark: isoOrNull(watermarkMs),
    pass: pass === null ? null : asJsonPass(pass),
  };
}

function asJsonPass({
  startedAtMs,
  ...rest
}: NonNullable<CollectionStatus['pass']>): Record<string, unknown> {
  return { ...rest, startedAt: isoOrNull(startedAtMs) };
}
