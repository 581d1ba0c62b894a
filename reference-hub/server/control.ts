import type { IncomingMessage } from 'node:http';
import type { HubClock } from '../hub-clock.ts';
import type { DistrictOperations } from '../hub-operations.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { isJsonObject, textOf } from '../json.ts';
import type { LivingDistrict } from '../living/living-district.ts';
import type { ActiveFaults } from './faults/active-faults.ts';
import { readBody } from './read-body.ts';
import type { Reply } from './reply.ts';
import { jsonReply, RequestRefused } from './reply.ts';
import type { RequestLog } from './request-log.ts';
import type { TokenEndpoint } from './token-endpoint.ts';

const LARGEST_BODY_BYTES = 64 * 1_048_576;

export interface ControlParts {
  readonly operations: DistrictOperations;
  readonly living: LivingDistrict;
  readonly clock: HubClock;
  readonly faults: ActiveFaults;
  readonly requests: RequestLog;
  readonly tokens: TokenEndpoint;
  /** Also for other machines. */
  readonly open: boolean;
}

/** The control API (see the folder's README): everything a test or a person can do to a running hub. */
export function createControl(parts: ControlParts): (request: IncomingMessage, url: URL) => Promise<Reply> {
  return async (request, url) => {
    if (!parts.open && !isLoopback(request.socket.remoteAddress)) {
      throw new RequestRefused(403, 'The control API answers this machine only.');
    }
    const path = decodeURIComponent(url.pathname.replace(/^\/control\/?/, ''));
    if (request.method === 'GET') return read(parts, { path, url });
    if (request.method !== 'POST') throw new RequestRefused(405, 'Use GET or POST.');
    const body = parsed(await readBody(request, LARGEST_BODY_BYTES));
    try {
      return jsonReply(200, act(parts, { path, body }));
    } catch (error) {
      if (error instanceof RangeError || error instanceof TypeError)
        throw new RequestRefused(400, error.message);
      throw error;
    }
  };
}

function read(parts: ControlParts, options: { path: string; url: URL }): Reply {
  const { path, url } = options;
  if (path === '' || path === 'state') return jsonReply(200, state(parts));
  if (path === 'requests') {
    const last = Number(url.searchParams.get('last') ?? '100');
    return jsonReply(200, {
      counts: parts.requests.counts(),
      last: parts.requests.all().slice(-last),
    });
  }
  if (path.startsWith('snapshot/')) {
    try {
      const text = parts.operations.snapshotJson(path.slice('snapshot/'.length), {
        faults: url.searchParams.get('faults') !== 'false',
      });
      return { ...jsonReply(200, null), body: Buffer.from(text) };
    } catch (error) {
      if (error instanceof RangeError) throw new RequestRefused(404, error.message);
      throw error;
    }
  }
  throw new RequestRefused(404, 'GET state, requests or snapshot/<collection>.');
}

function act(parts: ControlParts, options: { path: string; body: JsonObject }): JsonValue {
  const { path, body } = options;
  switch (path) {
    case 'faults':
      changeFaults(parts.faults, body);
      return { faults: faultList(parts) };
    case 'freeze':
      parts.living.freeze();
      return { frozen: true };
    case 'unfreeze':
      parts.living.unfreeze();
      return { frozen: false };
    case 'step':
      return parts.living.step(Math.min(100_000, numberOf(body, 'changes') ?? 1));
    case 'clock':
      parts.clock.advance(numberOf(body, 'advanceMs') ?? 0);
      return { now: new Date(parts.clock.now()).toISOString() };
    case 'revoke-tokens':
      parts.tokens.revokeAll();
      return { revoked: true };
    case 'requests/clear':
      parts.requests.clear();
      return { cleared: true };
    case 'district':
      return { results: [body['calls'] ?? []].flat().map((call) => callOperation(parts.operations, call)) };
    default:
      throw new RequestRefused(
        404,
        'POST faults, freeze, unfreeze, step, clock, revoke-tokens, requests/clear or district.',
      );
  }
}

/** `{ do: name, with: arguments }`: an operation of the district by its name. @throws RangeError or TypeError */
function callOperation(operations: DistrictOperations, call: JsonValue): JsonValue {
  const { do: name, with: given } = isJsonObject(call) ? call : {};
  const operation = Object.entries(operations).find(([known]) => known === name)?.[1];
  if (operation === undefined) throw new RangeError(`There is no operation "${textOf(name)}".`);
  return (Reflect.apply(operation, undefined, [given ?? []].flat()) as JsonValue | undefined) ?? null;
}

function state(parts: ControlParts): JsonObject {
  return {
    now: new Date(parts.clock.now()).toISOString(),
    frozen: parts.living.frozen(),
    happened: parts.living.happened(),
    counts: { ...parts.operations.counts() },
    faults: faultList(parts),
    tokensIssued: parts.tokens.issued(),
  };
}

function faultList(parts: ControlParts): JsonValue[] {
  return parts.faults.list().map((fault): JsonObject => Object.assign({}, fault));
}

/** `{ set: ["latency=50", {name, value, collection, times}], clear: true | ["latency"] }`; clearing comes first. */
function changeFaults(faults: ActiveFaults, body: JsonObject): void {
  const { set, clear } = body;
  if (clear === true || clear === 'all') faults.clear();
  for (const name of Array.isArray(clear) ? clear : []) faults.clear(textOf(name));
  for (const item of Array.isArray(set) ? set : []) {
    if (typeof item === 'string') {
      faults.set(item);
    } else if (isJsonObject(item)) {
      const value = item['value'];
      faults.set(textOf(item['name']), {
        value: typeof value === 'string' || typeof value === 'number' ? value : undefined,
        collection: typeof item['collection'] === 'string' ? item['collection'] : undefined,
        times: numberOf(item, 'times'),
      });
    }
  }
}

function numberOf(body: JsonObject, field: string): number | undefined {
  const value = body[field];
  return typeof value === 'number' ? value : undefined;
}

function parsed(text: string): JsonObject {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch {
    // Refused below, like any other body that is no object.
  }
  throw new RequestRefused(400, 'The body is a JSON object.');
}

function isLoopback(address: string | undefined): boolean {
  return address === '::1' || (address ?? '').replace('::ffff:', '').startsWith('127.');
}
