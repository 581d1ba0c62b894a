import { createPrivateKey } from 'node:crypto';
import { isOff, listOf, mapOf, type Finding, type KeyPath } from './problem.ts';
import { collectionOf } from './schedules.ts';
import { protectedFieldsOf } from '../core/rows/mapping-rules.ts';
import { DERIVED_COLLECTIONS, isCollectionName } from '../model/collections.ts';

type Written = Readonly<Record<string, unknown>>;

/**
 * Checks keys against each other. `value` is the content of the file before the schema has converted it, so that one
 * error lists these problems together with those that the schema finds. Values of a wrong shape are skipped, because
 * the schema reports them.
 */
export function crossCheck(value: unknown): Finding[] {
  const root = mapOf(value);
  const tenants = listOf(root['tenants']).map(mapOf);
  const hasKey = root['pseudonymise'] !== undefined;
  const within = tenants.flatMap((tenant, index) =>
    [...settingsFindings(tenant, hasKey), ...absenceFindings(tenant), ...scheduleFindings(tenant)].map(
      ({ path, message, isOfKey }) => ({ path: ['tenants', index, ...path], message, isOfKey }),
    ),
  );
  return [
    ...repeatedIds(tenants),
    ...within,
    ...credentialFindings(root),
    ...redisFindings(mapOf(root['redis'])),
  ];
}

function repeatedIds(tenants: readonly Written[]): Finding[] {
  const ids = tenants.map(({ id }) => id);
  return ids.flatMap((id, index) => {
    const first = ids.indexOf(id);
    if (typeof id !== 'string' || first === index) return [];
    return [
      { path: ['tenants', index, 'id'], message: `is the same as tenants[${first}].id; ids must differ` },
    ];
  });
}

function settingsFindings(tenant: Written, hasKey: boolean): Finding[] {
  return Object.entries(mapOf(tenant['collections'])).flatMap(([name, written]) => {
    const settings = mapOf(written);
    const path = ['collections', name];
    const findings: Finding[] = mappedFields(tenant, name, (field) => isProtected(name, field), NEEDED);
    // None of these settings can have an effect on class-students, whose values consist of ids.
    for (const kind of name === 'class-students' ? ['drop', 'pseudonymise', 'ignore'] : []) {
      if (listOf(settings[kind]).length === 0) continue;
      const message =
        'has no meaning here: the values consist of ids, which can be neither dropped nor pseudonymised';
      findings.push({ path: [...path, kind], message });
    }
    if (listOf(settings['pseudonymise']).length > 0 && !hasKey) {
      findings.push({ path: [...path, 'pseudonymise'], message: 'needs pseudonymise.key, which is missing' });
    }
    return findings;
  });
}

const NEEDED = 'names a field that Rollcall needs';

/** Returns a problem for each field of a collection that `drop` or `pseudonymise` names but must not name. */
function mappedFields(
  tenant: Written,
  collection: string,
  isForbidden: (field: unknown) => boolean,
  message: string,
): Finding[] {
  const settings = mapOf(mapOf(tenant['collections'])[collection]);
  return ['drop', 'pseudonymise'].flatMap((kind) =>
    listOf(settings[kind]).flatMap((field, position) =>
      isForbidden(field) ? [{ path: ['collections', collection, kind, position], message }] : [],
    ),
  );
}

function isProtected(collection: string, field: unknown): boolean {
  if (field === 'sourcedId') return true;
  if (!isCollectionName(collection) || typeof field !== 'string') return false;
  return protectedFieldsOf(collection).includes(field);
}

/** Absences and their changes are derived together from the versions. */
function absenceFindings({ collections }: Written): Finding[] {
  const mirrored = DERIVED_COLLECTIONS.filter((name) => isMirrored(collections, name));
  if (mirrored.length === 0) return [];
  const settings = DERIVED_COLLECTIONS.flatMap((name) =>
    Object.keys(mapOf(mapOf(collections)[name]))
      .filter((key) => key !== 'enabled')
      .map((key) => ({
        path: ['collections', name, key],
        message: 'has no meaning here: set it for absence-versions, from which these records are derived',
        isOfKey: true as const,
      })),
  );
  const lacking = ['absence-versions', ...DERIVED_COLLECTIONS].filter(
    (name) => !isMirrored(collections, name),
  );
  const partners = lacking.map((name) => ({
    path: ['collections'],
    message: `would mirror ${mirrored.join(' and ')}, which require ${name}: mirror ${name}, too, or leave out ${mirrored.join(' and ')}`,
  }));
  return [...settings, ...partners];
}

function scheduleFindings(tenant: Written): Finding[] {
  const { collections } = tenant;
  if (!isMirrored(collections, 'schedules')) return [];
  const { students = 'absent', fields } = mapOf(tenant['schedules']);
  const findings: Finding[] = [];
  // Where nobody asked for schedules, they are off if no collection shows which students have them.
  const isNamed =
    Array.isArray(collections) ||
    mapOf(collections)['schedules'] !== undefined ||
    tenant['schedules'] !== undefined;
  if (isNamed) {
    const needed = students === 'absent' || students === 'all' ? collectionOf(students) : null;
    if (needed !== null && !isMirrored(collections, needed)) {
      const message = `needs the collection ${needed}, because its value is "${String(students)}": enable ${needed}, name ids, or disable the collection schedules`;
      findings.push({ path: ['schedules', 'students'], message });
    }
    // Without the start of a lesson, Rollcall does not know the day of the lesson.
    const start = mapOf(fields)['start'] ?? 'start';
    const [field] = typeof start === 'string' ? start.split('.') : [];
    findings.push(...mappedFields(tenant, 'schedules', (each) => each === field, NEEDED));
  }
  // Absences show which students have schedules, and the hub does not know a pseudonym.
  if (students === 'absent' && isMirrored(collections, 'absences')) {
    const message =
      'names the student, and schedules of absent students need it: keep it, name ids under schedules.students, or disable the collection schedules';
    findings.push(...mappedFields(tenant, 'absence-versions', (each) => each === 'student', message));
  }
  return findings;
}

function isMirrored(collections: unknown, name: string): boolean {
  if (Array.isArray(collections)) return collections.includes(name);
  const { enabled } = mapOf(mapOf(collections)[name]);
  return enabled !== false && enabled !== 'false';
}

function credentialFindings(root: Written): Finding[] {
  const registry = mapOf(root['registry']);
  const logIns = ['username', 'bearerToken', 'oauth'].filter((key) => registry[key] !== undefined);
  return [
    ...missingPartner(registry, ['registry'], ['username', 'password']),
    ...logIns.slice(1).map((key) => ({
      path: ['registry', key],
      message: `is a second way to log in, because ${logIns[0]} is set, too: keep one of them`,
      isOfKey: true as const,
    })),
    ...kafkaFindings(mapOf(root['kafka'])),
    ...certificateFindings(mapOf(registry['ssl']), ['registry', 'ssl']),
  ];
}

function kafkaFindings({ ssl, sasl }: Written): Finding[] {
  const findings = certificateFindings(mapOf(ssl), ['kafka', 'ssl']);
  if (/^aws-msk-iam$/i.test(String(mapOf(sasl)['mechanism'])) && isOff(ssl)) {
    const message = 'must be true: Amazon MSK accepts the mechanism aws-msk-iam only over TLS';
    findings.push({ path: ['kafka', 'ssl'], message });
  }
  return findings;
}

function redisFindings({ url, sentinel, cluster, ssl }: Written): Finding[] {
  const findings = certificateFindings(mapOf(ssl), ['redis', 'ssl']);
  const isCluster = cluster === true || cluster === 'true';
  // If `cluster` is a variable (`${…}`), it is not off: it may turn out to be true.
  if (isOff(cluster) && sentinel === undefined && typeof url === 'string' && url.includes(','))
    findings.push({
      path: ['redis', 'url'],
      message: 'names several servers: set redis.sentinel if they are Sentinels, or redis.cluster: true',
    });
  if (isCluster && sentinel !== undefined)
    findings.push({ path: ['redis', 'cluster'], message: 'must be left out if redis.sentinel is set' });
  if (isCluster && /\/[1-9]\d*$/.test(String(url)))
    findings.push({ path: ['redis', 'url'], message: 'names a database, and a Cluster has only database 0' });
  if (ssl !== undefined && String(url).startsWith('redis://'))
    findings.push({ path: ['redis', 'url'], message: 'must begin with rediss://, because redis.ssl is set' });
  return findings;
}

function certificateFindings(tls: Written, path: KeyPath): Finding[] {
  const { key, passphrase } = tls;
  const lone = missingPartner(tls, path, ['cert', 'key']);
  if (typeof key !== 'string' || !key.includes('ENCRYPTED')) return lone;
  if (typeof passphrase !== 'string')
    return [...lone, { path: [...path, 'passphrase'], message: 'is missing, but the key is encrypted' }];
  try {
    createPrivateKey({ key, passphrase });
    return lone;
  } catch {
    return [...lone, { path: [...path, 'passphrase'], message: 'does not decrypt the key' }];
  }
}

function missingPartner(map: Written, path: KeyPath, [first, second]: readonly [string, string]): Finding[] {
  if ((map[first] !== undefined) === (map[second] !== undefined)) return [];
  const [absent, present] = map[first] !== undefined ? [second, first] : [first, second];
  return [{ path: [...path, absent], message: `is missing; ${present} needs it` }];
}
