import { RollcallError } from '../errors.ts';
import { LEVEL, NOT_FOUND, isSuccess, knownLevel } from './registry-answer.ts';
import { RefusedRequest } from './registry-client.ts';

const CONFLICTS: ReadonlySet<number> = new Set([409, 422]);
const WHERE = 'Check registry.url; Apicurio serves the compatible API under /apis/ccompat/v7.';

/** Throws what an answer of the registry other than success means. `what` names the resource. */
export function refuseUnlessOk(status: number, at: { url: string; what: string }): void {
  if (!isSuccess(status)) throw statusError(status, at);
}

export function statusError(status: number, { url, what }: { url: string; what: string }): RollcallError {
  if (status === 401 || status === 403) {
    return new RollcallError(
      'REGISTRY_REFUSED',
      `The schema registry refused access to ${what} (HTTP ${status})`,
      { remedy: 'Check registry.username and registry.password, and the rights of that user.' },
    );
  }
  if (status === NOT_FOUND) {
    return new RollcallError('REGISTRY_REFUSED', `There is no schema registry at ${url} (HTTP 404)`, {
      remedy: WHERE,
    });
  }
  return new RollcallError(
    'REGISTRY_UNREACHABLE',
    `The schema registry answered HTTP ${status} for ${what}`,
    {
      remedy: 'If it goes on, look at the registry.',
    },
  );
}

/** What the library threw when it registered a schema. Its texts may hold what was received. */
export function registeringError(error: unknown, { url, subject }: { url: string; subject: string }): Error {
  if (error instanceof RollcallError) return error;
  if (error instanceof RefusedRequest) {
    return error.method === 'POST' && CONFLICTS.has(error.status)
      ? incompatible(error.status, { url, subject })
      : statusError(error.status, { url, what: subject });
  }
  if (!(error instanceof Error) || error.name !== 'ConfluentSchemaRegistryCompatibilityError') {
    return oddAnswer(url);
  }
  const level = knownLevel(/ != (\w+)\)$/.exec(error.message)?.[1]);
  return new RollcallError(
    'SCHEMA_INCOMPATIBLE',
    `Subject ${subject} has compatibility ${level}, the contract wants ${LEVEL}`,
    {
      remedy: `Set it: PUT ${url}/config/${subject} {"compatibility":"${LEVEL}"} once you know why it was changed.`,
    },
  );
}

function incompatible(status: number, { url, subject }: { url: string; subject: string }): RollcallError {
  return new RollcallError(
    'SCHEMA_INCOMPATIBLE',
    `The schema of ${subject} does not fit the versions already registered (HTTP ${status})`,
    {
      remedy: `Look at GET ${url}/subjects/${subject}/versions: another program registered there, or this version of Rollcall is older than the one before.`,
    },
  );
}

export function oddAnswer(url: string): RollcallError {
  return new RollcallError(
    'REGISTRY_REFUSED',
    `What is at ${url} answers, but not as a schema registry does`,
    { remedy: WHERE },
  );
}

const LOST_SCHEMAS =
  'Was the registry emptied, or is it another one? Point registry.url at the one the topics were written with, or restore its schemas.';

/** A record that no schema at hand fits. Without a cause: a decoder's message may quote what it read. */
export class UndecodableRecord extends RollcallError {
  constructor(url: string, why: 'unknown id' | 'misfit') {
    const message =
      why === 'unknown id'
        ? `The registry at ${url} knows no Avro schema of the id that a record names`
        : `The schema that the registry at ${url} gives for a record does not fit it`;
    super('REGISTRY_REFUSED', message, { remedy: LOST_SCHEMAS });
  }
}

export function wrongId(id: number, { url, subject }: { url: string; subject: string }): RollcallError {
  return new RollcallError(
    'REGISTRY_REFUSED',
    `The registry at ${url} gave id ${id} for the schema of ${subject}, but does not hold that schema under it`,
    {
      remedy: `Nothing is published meanwhile, as nobody could read it. Compare GET ${url}/schemas/ids/${id} with GET ${url}/subjects/${subject}/versions/latest; Rollcall asks again by itself.`,
    },
  );
}
