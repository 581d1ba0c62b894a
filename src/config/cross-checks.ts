import { listOf, mapOf, type Finding, type KeyPath } from './problem.ts';
import { scheduleFindings } from './schedule-checks.ts';
import { protectedFieldsOf } from '../core/mapping.ts';
import { CHAIN_COLLECTIONS, isCollectionName } from '../model/collections.ts';

/**
 * Checks keys against each other. It works on the unparsed file, so that one error lists these problems together with
 * the schema's, and skips values of a wrong shape, which the schema reports.
 */
export function crossCheck(value: unknown): Finding[] {
  const root = mapOf(value);
  const tenants = listOf(root['tenants']).map(mapOf);
  const hasKey = root['pseudonymise'] !== undefined;
  return [
    ...repeatedIds(tenants),
    ...tenants.flatMap((tenant, index) => settingsFindings(tenant, { index, hasKey })),
    ...tenants.flatMap((tenant, index) => chainFindings(tenant, index)),
    ...tenants
      .flatMap(scheduleFindings)
      .map(({ path, message }) => ({ path: ['tenants', ...path], message })),
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
    const findings: Finding[] = ['drop', 'pseudonymise'].flatMap((kind) =>
      listOf(settings[kind]).flatMap((field, position) =>
        isProtected(name, field)
          ? [{ path: [...path, kind, position], message: 'names a field that Rollcall needs' }]
          : [],
      ),
    );
    if (name === 'class-students') findings.push(...mappingFindings(settings, path));
    if (listOf(settings['pseudonymise']).length > 0 && !options.hasKey) {
      findings.push({ path: [...path, 'pseudonymise'], message: 'needs pseudonymise.key, which is missing' });
    }
    return findings;
  });
}

/** The values of class-students consist of ids, so they allow no mapping. */
function mappingFindings(settings: Readonly<Record<string, unknown>>, path: KeyPath): Finding[] {
  return ['drop', 'pseudonymise', 'ignore']
    .filter((kind) => listOf(settings[kind]).length > 0)
    .map((kind) => ({
      path: [...path, kind],
      message:
        'has no meaning here: the values consist of ids, which can be neither dropped nor pseudonymised',
    }));
}

/** Absences and their changes are derived together from the versions. */
function chainFindings(tenant: Readonly<Record<string, unknown>>, index: number): Finding[] {
  const written = tenant['collections'];
  const isMirrored = (name: string): boolean =>
    Array.isArray(written) ? written.includes(name) : mapOf(mapOf(written)[name])['enabled'] !== false;
  const mirrored = CHAIN_COLLECTIONS.filter(isMirrored);
  if (mirrored.length === 0) return [];
  const settings = CHAIN_COLLECTIONS.flatMap((name) =>
    Object.keys(mapOf(mapOf(written)[name]))
      .filter((key) => key !== 'enabled')
      .map((key) => ({
        path: ['tenants', index, 'collections', name, key],
        message: 'has no meaning here: set it for absence-versions, from which these records are derived',
      })),
  );
  const lacking = ['absence-versions', ...CHAIN_COLLECTIONS].filter((name) => !isMirrored(name));
  const partners = lacking.map((name) => ({
    path: ['tenants', index, 'collections'],
    message: `names ${mirrored.join(' and ')}, which require ${name}: mirror both, or neither`,
  }));
  return [...settings, ...partners];
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
  return [{ path: [...options.path, absent], message: `is missing; ${present} needs it` }];
}
