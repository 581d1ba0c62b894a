import type { KeyPath } from './problem.ts';
import { protectedFieldsOf } from '../core/mapping.ts';
import { isCollectionName } from '../model/collections.ts';

interface Finding {
  readonly path: KeyPath;
  readonly message: string;
}

/**
 * What is wrong between keys. Works on the file as read, so that it is told together with everything
 * else that is wrong, and skips what has not the right shape: the schema tells that.
 */
export function crossCheck(value: unknown): Finding[] {
  const root = mapOf(value);
  const tenants = listOf(root['tenants']).map(mapOf);
  const hasKey = root['pseudonymise'] !== undefined;
  return [
    ...repeatedIds(tenants),
    ...tenants.flatMap((tenant, index) => settingsFindings(tenant, { index, hasKey })),
    ...tenants.flatMap(scheduleFindings),
    ...credentialFindings(root),
  ];
}

function repeatedIds(tenants: readonly Readonly<Record<string, unknown>>[]): Finding[] {
  const firstAt = new Map<unknown, number>();
  return tenants.flatMap(({ id }, index) => {
    if (typeof id !== 'string') return [];
    const first = firstAt.get(id);
    if (first === undefined) firstAt.set(id, index);
    return first === undefined
      ? []
      : [{ path: ['tenants', index, 'id'], message: `is the same as tenants[${first}].id; ids must differ` }];
  });
}

function settingsFindings(
  tenant: Readonly<Record<string, unknown>>,
  options: { index: number; hasKey: boolean },
): Finding[] {
  return Object.entries(mapOf(tenant['collections'])).flatMap(([name, written]) => {
    const settings = mapOf(written);
    const path = ['tenants', options.index, 'collections', name];
    const findings = ['drop', 'pseudonymise'].flatMap((kind) =>
      listOf(settings[kind]).flatMap((field, position) =>
        isProtected(name, field)
          ? [{ path: [...path, kind, position], message: 'names a field that Rollcall cannot do without' }]
          : [],
      ),
    );
    if (listOf(settings['pseudonymise']).length > 0 && !options.hasKey) {
      findings.push({ path: [...path, 'pseudonymise'], message: 'needs pseudonymise.key, which is missing' });
    }
    return findings;
  });
}

/** Whom to ask for is told by another collection. */
function scheduleFindings(tenant: Readonly<Record<string, unknown>>, index: number): Finding[] {
  const students = mapOf(tenant['schedules'])['students'] ?? 'absent';
  const needed = students === 'absent' ? 'absence-versions' : students === 'all' ? 'students' : null;
  const isMissing = needed !== null && !isMirrored(tenant['collections'], needed);
  if (!isMissing || !isMirrored(tenant['collections'], 'schedules')) return [];
  const path = ['tenants', index, 'schedules', 'students'];
  return [
    {
      path,
      message: `${students === 'all' ? 'all' : 'absent'} needs the collection ${needed}, which is not mirrored: enable it, name the ids, or disable the collection schedules`,
    },
  ];
}

/** As the configuration is resolved; what has another shape is told elsewhere. */
function isMirrored(collections: unknown, name: string): boolean {
  if (Array.isArray(collections)) return collections.includes(name);
  const { enabled } = mapOf(mapOf(collections)[name]) as { enabled?: unknown };
  return enabled !== false && enabled !== 'false';
}

function isProtected(collection: string, field: unknown): boolean {
  if (field === 'sourcedId') return true;
  if (!isCollectionName(collection) || typeof field !== 'string') return false;
  return protectedFieldsOf(collection).includes(field);
}

function credentialFindings(root: Readonly<Record<string, unknown>>): Finding[] {
  const tls = mapOf(mapOf(root['kafka'])['ssl']);
  return [
    ...missingPartner(mapOf(root['registry']), { path: ['registry'], pair: ['username', 'password'] }),
    ...missingPartner(tls, { path: ['kafka', 'ssl'], pair: ['cert', 'key'] }),
  ];
}

function missingPartner(
  map: Readonly<Record<string, unknown>>,
  options: { path: KeyPath; pair: readonly [string, string] },
): Finding[] {
  const [first, second] = options.pair;
  const hasFirst = map[first] !== undefined;
  const hasSecond = map[second] !== undefined;
  if (hasFirst === hasSecond) return [];
  const [absent, present] = hasFirst ? [second, first] : [first, second];
  return [{ path: [...options.path, absent], message: `is missing; ${present} alone is of no use` }];
}

function mapOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
