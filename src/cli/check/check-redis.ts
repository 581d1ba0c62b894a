import type { Config } from '../../config.ts';
import { redisConnection } from '../../session/assemble.ts';
import type { StateStore } from '../../state/index-store.ts';
import { inspectRedis, type RedisFacts } from '../../state/inspect-redis.ts';
import { failure, failureOf, ok, warning, type Finding, type Section } from './finding.ts';
import { formatCount } from '../../core/words.ts';

const OLDEST_VERSION = [6, 2] as const;
const MEBIBYTE = 1024 * 1024;
const NEARLY_FULL = 0.9;

/** Checks Redis: connection, version, eviction policy, memory and rights. Leaves nothing there. */
export async function checkRedis(config: Config, store: StateStore): Promise<Section> {
  const title = 'Redis';
  const { redis } = config;
  if (redis === undefined) {
    return {
      title,
      findings: [
        ok(
          'index',
          'no Redis is configured: the index lives in memory and is rebuilt from the topics at each start',
        ),
      ],
    };
  }
  let facts: RedisFacts;
  try {
    facts = await inspectRedis(redisConnection(redis));
  } catch (error) {
    return { title, findings: [failureOf('connection', error)] };
  }
  return { title, findings: [...redisFindings(facts), await checkRights(store, facts)] };
}

/** Findings from what Redis reports about itself. */
export function redisFindings(facts: RedisFacts): Finding[] {
  return [
    ok('connection', facts.address),
    versionFinding(facts),
    evictionFinding(facts),
    ...memoryFindings(facts),
  ];
}

function versionFinding({ version }: RedisFacts): Finding {
  if (version === null) {
    return warning(
      'version',
      'Redis does not report its version',
      'Rollcall needs Redis 6.2 or later, or one compatible with it.',
    );
  }
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isOld = major < OLDEST_VERSION[0] || (major === OLDEST_VERSION[0] && minor < OLDEST_VERSION[1]);
  return isOld
    ? failure(
        'version',
        `${version} is too old`,
        'Rollcall needs Redis 6.2 or later, or one compatible with it.',
      )
    : ok('version', version);
}

function evictionFinding({ evictionPolicy }: RedisFacts): Finding {
  if (evictionPolicy === null) {
    return warning(
      'eviction',
      'Redis does not report its maxmemory-policy',
      'Make sure that it is noeviction.',
    );
  }
  return evictionPolicy === 'noeviction'
    ? ok('eviction', 'noeviction')
    : failure(
        'eviction',
        `maxmemory-policy is ${evictionPolicy}: Redis may drop parts of the index when memory runs short`,
        'Set maxmemory-policy to noeviction, or give Rollcall its own Redis in redis.url.',
      );
}

function memoryFindings({ usedBytes, maxBytes }: RedisFacts): Finding[] {
  if (usedBytes === null) return [];
  const used = `${formatCount(Math.ceil(usedBytes / MEBIBYTE))} MiB used`;
  if (maxBytes === null || maxBytes === 0) return [ok('memory', `${used}, no limit of its own`)];
  const text = `${used} of ${formatCount(Math.ceil(maxBytes / MEBIBYTE))} MiB`;
  return [
    usedBytes > maxBytes * NEARLY_FULL
      ? warning('memory', text, 'Raise maxmemory: the index takes some 140 bytes per row.')
      : ok('memory', text),
  ];
}

/** Writes and deletes a key of its own, which is the only test of the rights to run scripts and to write. */
async function checkRights(store: StateStore, { evictionPolicy }: RedisFacts): Promise<Finding> {
  try {
    await store.ready();
    return ok('rights', 'scripts, reading and writing are permitted');
  } catch (error) {
    // `ready` checks the policy first, and that finding exists already.
    if (evictionPolicy !== null && evictionPolicy !== 'noeviction') {
      return warning('rights', 'not checked', 'Fix the eviction policy first.');
    }
    return failureOf('rights', error);
  }
}
