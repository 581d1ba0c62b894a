import { RollcallError } from '../errors.ts';

/** Throws what an answer of the registry other than success means. `what` names the resource. */
export function refuseUnlessOk(status: number, at: { url: string; what: string }): void {
  if (status >= 200 && status < 300) return;
  throw statusError(status, at);
}

function statusError(status: number, { url, what }: { url: string; what: string }): RollcallError {
  if (status === 401 || status === 403) {
    return new RollcallError(
      'REGISTRY_REFUSED',
      `The schema registry refused access to ${what} (HTTP ${status})`,
      { remedy: 'Check registry.username and registry.password, and the rights of that user.' },
    );
  }
  if (status === 404) {
    return new RollcallError('REGISTRY_REFUSED', `There is no schema registry at ${url} (HTTP 404)`, {
      remedy: 'Check registry.url; Apicurio serves the compatible API under /apis/ccompat/v7.',
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

const CONFLICTS: ReadonlySet<number> = new Set([409, 422]);

/** Like {@link refuseUnlessOk}, of registering a schema. */
export function refuseUnlessRegistered(
  { status }: { status: number },
  at: { url: string; subject: string },
): void {
  if (!CONFLICTS.has(status)) {
    refuseUnlessOk(status, { url: at.url, what: at.subject });
    return;
  }
  throw new RollcallError(
    'SCHEMA_INCOMPATIBLE',
    `The schema of ${at.subject} does not fit the versions already registered (HTTP ${status})`,
    {
      remedy: `Look at GET ${at.url}/subjects/${at.subject}/versions: another program registered there, or this version of Rollcall is older than the one before.`,
    },
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
