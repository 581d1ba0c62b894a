import { setTimeout as delay } from 'node:timers/promises';
import type { District } from './district/district.ts';
import { createDistrict } from './district/district.ts';
import type { DistrictSize } from './district/generate/district-plan.ts';
import { DEFAULT_SIZE } from './district/generate/district-plan.ts';
import { createHubClock } from './hub-clock.ts';
import type { HubClock } from './hub-clock.ts';
import type { DistrictOperations } from './hub-operations.ts';
import { createDistrictOperations } from './hub-operations.ts';
import type { LivingDistrict } from './living/living-district.ts';
import { createLivingDistrict } from './living/living-district.ts';
import { createRandom } from './random.ts';
import { createControl } from './server/control.ts';
import type { ActiveFaults } from './server/faults/active-faults.ts';
import { createActiveFaults } from './server/faults/active-faults.ts';
import { CONTROL_PATH, listen, TOKEN_PATH } from './server/hub-server.ts';
import type { RequestLog } from './server/request-log.ts';
import { createRequestLog } from './server/request-log.ts';
import type { TokenEndpoint } from './server/token-endpoint.ts';
import { createTokenEndpoint } from './server/token-endpoint.ts';

export interface ReferenceHubOptions {
  host?: string | undefined;
  /** 0: any free one. */
  port?: number | undefined;
  /** Path prefix of the tenant, without slashes; empty: none. */
  tenant?: string | undefined;
  students?: number | undefined;
  /** Figures that differ from a county's usual ones. */
  size?: Partial<DistrictSize> | undefined;
  seed?: number | undefined;
  live?: boolean | undefined;
  changesPerMinute?: number | undefined;
  /** What the hub's clock shows at the start, ms; default: now. */
  startMs?: number | undefined;
  /** `HH:MM` in Oslo. */
  restampAt?: string | undefined;
  /** `name=value@collection` */
  faults?: readonly string[] | undefined;
  clientId?: string | undefined;
  clientSecret?: string | undefined;
  /** Origin in links, for a hub that is reached through something else; default: what the client used. */
  publicOrigin?: string | undefined;
  /** Lets others than this machine use the control API. */
  openControl?: boolean | undefined;
  /** The world's clock, ms. */
  now?: (() => number) | undefined;
}

export interface ReferenceHub {
  readonly port: number;
  readonly baseUrl: string;
  readonly tokenUrl: string;
  readonly controlUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly district: DistrictOperations;
  readonly living: LivingDistrict;
  readonly clock: HubClock;
  readonly faults: ActiveFaults;
  readonly requests: RequestLog;
  readonly tokens: TokenEndpoint;
  stop(): Promise<void>;
}

const DEFAULTS = {
  now: Date.now,
  host: '127.0.0.1',
  seed: 1,
  restampAt: '02:00',
  clientId: 'rollcall',
  clientSecret: 'reference-secret',
  tenant: 'north',
  port: 0,
  changesPerMinute: 90,
  live: false,
  openControl: false,
};

/** The options without those that are undefined. */
function given(options: ReferenceHubOptions) {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [Name in keyof ReferenceHubOptions]?: Exclude<ReferenceHubOptions[Name], undefined>;
  };
}

/**
 * Starts a hub that serves the whole specification from a seeded district.
 *
 * @throws RangeError for an unknown fault; the error of node:net if the port is taken
 */
export async function startReferenceHub(options: ReferenceHubOptions = {}): Promise<ReferenceHub> {
  const { now, host, port, seed, restampAt, clientId, clientSecret, tenant, ...rest } = {
    ...DEFAULTS,
    ...given(options),
  };
  const tenantPath = tenant === '' ? '' : `/${tenant}`;
  const clock = createHubClock({ now, startMs: options.startMs });
  const faults = createActiveFaults(options.faults ?? []);
  const requests = createRequestLog();
  const tokens = createTokenEndpoint({
    clientId,
    clientSecret,
    now,
  });
  const random = createRandom(seed);
  const stopping = new AbortController();
  let running: { district: District; control: ReturnType<typeof createControl> } | undefined;
  const ready = (): NonNullable<typeof running> => {
    if (running === undefined) throw new Error('The hub is still building its district.');
    return running;
  };
  const server = await listen(
    {
      district: () => ready().district,
      tenantPath,
      clock,
      faults,
      log: requests,
      tokens,
      control: (request, path) => ready().control(request, path),
      random: () => random.fraction(),
      sleep: (ms) => delay(ms, undefined, { signal: stopping.signal }).catch(() => {}),
      publicOrigin: options.publicOrigin,
    },
    { host, port },
  );
  const origin = options.publicOrigin ?? `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${server.port}`;
  const baseUrl = `${origin}${tenantPath}`;
  const district = districtOf(options, { seed, clock, baseUrl, restampAt });
  const operations = createDistrictOperations(district, faults);
  const living = createLivingDistrict(district, {
    seed,
    restampAt,
    changesPerMinute: rest.changesPerMinute,
    running: rest.live,
  });
  const open = rest.openControl;
  const control = createControl({ operations, living, clock, faults, requests, tokens, open });
  running = { district, control };
  return {
    port: server.port,
    baseUrl,
    tokenUrl: `${origin}${TOKEN_PATH}`,
    controlUrl: `${origin}${CONTROL_PATH}`,
    clientId,
    clientSecret,
    clock,
    faults,
    requests,
    tokens,
    living,
    district: operations,
    stop: async () => {
      living.stop();
      stopping.abort();
      await server.close();
    },
  };
}

function districtOf(
  options: ReferenceHubOptions,
  made: { seed: number; clock: HubClock; baseUrl: string; restampAt: string },
): District {
  const students = options.students ?? options.size?.students ?? DEFAULT_SIZE.students;
  return createDistrict({ ...made, size: { ...DEFAULT_SIZE, ...options.size, students } });
}
