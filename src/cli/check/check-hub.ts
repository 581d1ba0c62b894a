import { syncedCollections, type TenantConfig } from '../../config.ts';
import { RollcallError } from '../../errors.ts';
import { createHubProbe, type CollectionProbe, type HubProbe } from '../../hub/probe-hub.ts';
import { collectionNamed, type Collection } from '../../model/collections.ts';
import { SHORT_REMEDY } from '../../core/deletions/evidence.ts';
import { countOf, formatCount, formatDuration } from '../../core/words.ts';
import { scheduleFindings } from './check-schedules.ts';
import { failure, failureOf, ok, warning, type Finding, type Section } from './finding.ts';
import type { Probed } from './probed.ts';

/** A larger skew is worth a warning; Rollcall itself uses the hub's clock. */
const SKEW_WORTH_WARNING_MS = 60_000;

/** Checks a tenant's hub: the token, and a few rows of every enabled collection. */
export async function checkHub(tenant: TenantConfig, signal: AbortSignal): Promise<Section> {
  const { hub } = tenant;
  await using probe = createHubProbe(hub);
  const section = { title: `Hub of ${tenant.id}  ${hub.baseUrl}`, tenant: tenant.id };
  const tokenFinding = await checkToken(probe, { tenant, signal });
  if (tokenFinding.level !== 'ok') {
    return { ...section, findings: [tokenFinding, await checkReachable(probe, signal)] };
  }
  const probed = await probeAll(probe, { tenant, signal });
  const schedules = await scheduleFindings(probe, { tenant, probed, signal });
  const isAlone = probed.length === 0 && schedules.length > 0;
  const others = isAlone ? [] : probedFindings(probed);
  return { ...section, findings: [tokenFinding, ...others, ...schedules] };
}

async function checkToken(
  probe: HubProbe,
  { tenant, signal }: { tenant: TenantConfig; signal: AbortSignal },
): Promise<Finding> {
  try {
    const { lifetimeMs } = await probe.token(signal);
    return ok('token', `from ${tenant.hub.tokenUrl}, good for ${formatDuration(lifetimeMs)}`);
  } catch (error) {
    signal.throwIfAborted();
    return failureOf('token', error);
  }
}

/** Without a token the hub refuses the request, which shows at least that it is reachable. */
async function checkReachable(probe: HubProbe, signal: AbortSignal): Promise<Finding> {
  const remedy = 'With a token, this check reads a few rows of every collection.';
  try {
    const status = await probe.knock(collectionNamed('orgs'), signal);
    if (status === 404) {
      return failure(
        'collections',
        'the hub answers, but has nothing at this address (HTTP 404)',
        'Check hub.baseUrl: host and tenant prefix.',
      );
    }
    return warning(
      'collections',
      `not checked without a token; something answers there (HTTP ${status})`,
      remedy,
    );
  } catch (error) {
    signal.throwIfAborted();
    return failureOf('collections', error);
  }
}

async function probeAll(
  probe: HubProbe,
  { tenant, signal }: { tenant: TenantConfig; signal: AbortSignal },
): Promise<Probed[]> {
  const ask = async (collection: Collection, parentId?: string): Promise<Probed> => {
    try {
      return { collection, probe: await probe.collection({ collection, parentId, signal }) };
    } catch (error) {
      signal.throwIfAborted();
      return { collection, error };
    }
  };
  // Schedules have no list: requests name a student.
  const collections = syncedCollections(tenant).filter(({ name }) => name !== 'schedules');
  const plain = collections.filter(({ path }) => !path.includes('{id}'));
  const probed = new Map<string, Probed>();
  for (const each of await Promise.all(plain.map((collection) => ask(collection)))) {
    probed.set(each.collection.name, each);
  }
  const nested = collections.filter(({ path }) => path.includes('{id}'));
  for (const collection of nested) {
    const parentId =
      collection.name === 'afterschool-users'
        ? tenant.afterschools[0]
        : (probed.get('classes') ?? (await ask(collectionNamed('classes')))).probe?.firstId;
    probed.set(
      collection.name,
      parentId === undefined || parentId === null
        ? { collection, skipped: 'there is no class to test it with' }
        : await ask(collection, parentId),
    );
  }
  return collections.flatMap(({ name }) => probed.get(name) ?? []);
}

/** The findings of all collections; a failure that they all share is reported once. */
export function probedFindings(probed: readonly Probed[]): Finding[] {
  const shared = sharedTrouble(probed);
  if (shared !== null) return [shared];
  return [...clockFindings(probed), ...emptyFindings(probed), ...probed.map(collectionFinding)];
}

function sharedTrouble(probed: readonly Probed[]): Finding | null {
  if (probed.length === 0) {
    return warning('collections', 'none is enabled', 'Enable some under tenants.collections.');
  }
  const asked = probed.filter(({ skipped }) => skipped === undefined);
  const error = asked[0]?.error;
  if (asked.length < 2 || !(error instanceof RollcallError)) return null;
  if (asked.some((each) => codeOf(each.error) !== error.code)) return null;
  if (error.code === 'HUB_NOT_OFFERED') {
    return failure(
      'collections',
      'the hub offers none of them at this address (HTTP 404)',
      'Check hub.baseUrl: host and tenant prefix.',
    );
  }
  return failure('collections', `none can be read; the first: ${error.message}`, error.remedy);
}

function codeOf(error: unknown): string | null {
  return error instanceof RollcallError ? error.code : null;
}

function clockFindings(probed: readonly Probed[]): Finding[] {
  const probes = probed.flatMap(({ probe }) => probe ?? []);
  if (probes.length === 0) return [];
  const skewMs = probes.find((probe) => probe.skewMs !== null)?.skewMs ?? null;
  if (skewMs === null) {
    return [
      warning(
        'clock',
        'the hub sends no Date',
        'Nothing: incremental syncs use the clock of this machine and reach an hour further back.',
      ),
    ];
  }
  const way = skewMs < 0 ? 'behind' : 'ahead of';
  const text = `the hub's is ${formatDuration(Math.abs(skewMs))} ${way} this machine's`;
  // The Date header has whole seconds.
  if (Math.abs(skewMs) < 2_000) return [ok('clock', "the hub's agrees with this machine's")];
  if (Math.abs(skewMs) < SKEW_WORTH_WARNING_MS) return [ok('clock', text)];
  return [
    warning(
      'clock',
      text,
      "Set the clock that is wrong. Incremental syncs use the hub's, so no change is lost.",
    ),
  ];
}

function collectionFinding({ collection, probe, error, skipped }: Probed): Finding {
  const { name } = collection;
  if (skipped !== undefined)
    return warning(name, `not checked: ${skipped}`, 'Check again when the hub has rows.');
  if (codeOf(error) === 'HUB_NOT_OFFERED') {
    return warning(
      name,
      'the hub does not offer it (HTTP 404)',
      'Remove it from tenants.collections; the others are mirrored anyway.',
    );
  }
  if (probe === undefined) return failureOf(name, error);
  return answeredFinding(collection, probe);
}

function answeredFinding({ name, path, envelope }: Collection, probe: CollectionProbe): Finding {
  const { rows, asked, total, short, leadsOut, paging, whySteppedDown } = probe;
  if (rows === null) {
    return warning(
      name,
      `the answer has no list "${envelope}"`,
      'Check what the hub answers, and the rights of this client: from such an answer Rollcall mirrors and removes nothing.',
    );
  }
  if (short !== null) return failure(name, `${short.rows} of ${short.total} rows came`, SHORT_REMEDY);
  if (rows === 0) return ok(name, 'no rows');
  // A total below the number of rows on the page counts something else.
  const count = total === null || total < rows ? 'rows, no usable total' : countOf(total, 'row');
  if (probe.rowsWithId === 0) {
    return warning(
      name,
      `${count}; none of those checked has a readable sourcedId`,
      'Such rows are published to rejects only. Have the hub send sourcedId as a text.',
    );
  }
  if (probe.isRepeated) {
    return failure(
      name,
      `${count}; the hub keeps returning the same page`,
      'Set hub.pageSize above the number of rows if the hub honours it: otherwise no sync can prove that it has read all rows.',
    );
  }
  if (probe.dateFilterFinds === false) return unfoundFinding(name, count);
  if (leadsOut !== null) {
    return warning(
      name,
      `${count}; the link to the next page leads to ${leadsOut}`,
      'Rollcall does not follow it, because it would send the token there, and pages by its own cursor. Check hub.baseUrl.',
    );
  }
  const details = [
    count,
    ...(path.includes('{id}') ? ['of the first parent only'] : []),
    paging === null ? 'too few rows to see how the hub pages' : `paged by ${paging}`,
    ...(rows > asked ? [`limit ignored: ${formatCount(rows)} rows for a limit of ${asked}`] : []),
  ];
  if (whySteppedDown === null) return ok(name, details.join('; '));
  return warning(
    name,
    [...details, `not by afterSourcedId: ${whySteppedDown}`].join('; '),
    paging === 'offset'
      ? 'Nothing: Rollcall chooses this way by itself (hub.paging: offset saves the attempts). With offsets and no total of the hub, a removal takes three full syncs.'
      : 'Nothing: Rollcall chooses this way by itself.',
  );
}

function unfoundFinding(name: string, count: string): Finding {
  return warning(
    name,
    `${count}; a listed row does not come when it is asked for by a time just before its dateLastModified`,
    "Incremental syncs miss such changes, and the daily full sync brings them. Have the hub answer filter=dateLastModified>'…' with a time in UTC.",
  );
}

/** Warns when every list is empty: usual for a client without rights, rare for a school. */
function emptyFindings(probed: readonly Probed[]): Finding[] {
  const probes = probed.flatMap(({ probe }) => probe ?? []);
  if (probes.length === 0 || probes.some(({ rows }) => rows !== 0)) return [];
  return [
    warning(
      'collections',
      'all answers are empty',
      'If the hub has data: check the rights of this client, hub.scope, and the tenant prefix in hub.baseUrl.',
    ),
  ];
}
