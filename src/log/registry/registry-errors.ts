import { RollcallError } from '../../errors.ts';
import { knownLevel, LEVEL, RefusedRequest } from './registry-client.ts';
import { isSuccess, NOT_FOUND } from './registry-http.ts';

/** A subject, and the registry that has it. */
interface At {
  readonly url: string;
  readonly subject: string;
}

const CONFLICTS: ReadonlySet<number> = new Set([409, 422]);
const WHERE = 'Check registry.url; Apicurio serves the compatible API under /apis/ccompat/v7.';

function refused(message: string, remedy: string): RollcallError {
  return new RollcallError('REGISTRY_REFUSED', message, { remedy });
}

function incompatible(message: string, remedy: string): RollcallError {
  return new RollcallError('SCHEMA_INCOMPATIBLE', message, { remedy });
}

/** Throws the error for an answer of the registry other than success. `what` names the resource. */
export function refuseUnlessOk(status: number, at: { url: string; what: string }): void {
  if (!isSuccess(status)) throw statusError(status, at);
}

export function statusError(status: number, { url, what }: { url: string; what: string }): RollcallError {
  if (status === 401 || status === 403)
    return refused(
      `The schema registry refused access to ${what} (HTTP ${status})`,
      'Check registry.username and registry.password (or bearerToken, or oauth), and the rights of that user.',
    );
  if (status === NOT_FOUND)
    return refused(
      `The server at ${url} answered HTTP 404 for ${what}; it may not be a schema registry`,
      WHERE,
    );
  const message = `The schema registry answered HTTP ${status} for ${what}`;
  return new RollcallError('REGISTRY_UNREACHABLE', message, {
    remedy: `If this continues, check the schema registry at ${url}.`,
  });
}

/** Explains an error of the library from registering a schema, without its text, which may quote received data. */
export function registeringError(error: unknown, { url, subject }: At): Error {
  if (error instanceof RollcallError) return error;
  if (error instanceof RefusedRequest) {
    if (error.isReadOnly) return readOnly({ url, subject });
    return error.method === 'POST' && CONFLICTS.has(error.status)
      ? misfit({ url, subject })
      : statusError(error.status, { url, what: subject });
  }
  if (!(error instanceof Error) || error.name !== 'ConfluentSchemaRegistryCompatibilityError')
    return notARegistry(url);
  return wrongLevel(/ != (\w+)\)$/.exec(error.message)?.[1], { url, subject });
}

export function misfit({ url, subject }: At): RollcallError {
  return incompatible(
    `The schema of ${subject} does not fit the versions already registered`,
    `Check GET ${url}/subjects/${subject}/versions: if another program registered a schema there, remove that version; if a newer version of Rollcall ran before, run that version.`,
  );
}

export function wrongLevel(level: unknown, { url, subject }: At): RollcallError {
  return incompatible(
    `Subject ${subject} has compatibility ${knownLevel(level)}, but the contract requires ${LEVEL}`,
    `Find out why it was changed, then set it: PUT ${url}/config/${subject} {"compatibility":"${LEVEL}"}.`,
  );
}

export function readOnly({ url, subject }: At): RollcallError {
  return refused(
    `The registry is read-only, but Rollcall needs a change there: ${subject} has no fitting schema yet, or no compatibility level`,
    `GET ${url}/mode and GET ${url}/mode/<subject> show which mode is read-only: set it to READWRITE until Rollcall has registered its schemas, or set registry.url to a registry that accepts writes.`,
  );
}

export function notARegistry(url: string): RollcallError {
  return refused(`The server at ${url} does not answer as a schema registry does`, WHERE);
}

const LOST_SCHEMAS =
  'Check whether the registry was emptied or replaced. Set registry.url to the registry that the topics were written with, or restore its schemas.';

/** The error for a record that fits no available schema. It has no cause, since a decoder's message may quote its input. */
export class UndecodableRecord extends RollcallError {
  constructor(url: string, why: 'unknown id' | 'misfit') {
    const message =
      why === 'unknown id'
        ? `The registry at ${url} has no Avro schema with the id that a record names`
        : `The schema that the registry at ${url} returns for a record does not match the record`;
    super('REGISTRY_REFUSED', message, { remedy: LOST_SCHEMAS });
  }
}

/**
 * The error if the registry no longer has the schemas with which Rollcall writes: their ids lead to other schemas, or
 * to none.
 */
export function schemaLost(subjects: readonly string[]): RollcallError {
  const [first = '', ...others] = subjects;
  const more = others.length === 0 ? '' : ` and of ${others.length} more`;
  const message = `The registry has another schema, or none, under the id of the schema of ${first}${more}`;
  return new RollcallError('SCHEMA_LOST', message, {
    remedy:
      'Rollcall registers the schema again by itself, and publishes nothing with it until then. Check whether the registry was emptied, or restored from an older backup; "rollcall status" says which records must be published again.',
  });
}

export function wrongId(id: number, { url, subject }: At): RollcallError {
  return refused(
    `The registry at ${url} returned id ${id} for the schema of ${subject}, but has another schema or none under that id`,
    `Rollcall publishes nothing meanwhile, because no consumer could read it, and tries again by itself. Compare GET ${url}/schemas/ids/${id} with GET ${url}/subjects/${subject}/versions/latest.`,
  );
}
