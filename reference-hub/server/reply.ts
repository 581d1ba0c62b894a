import type { JsonValue } from '../json.ts';

/** A response before it is sent. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

export function jsonReply(status: number, value: JsonValue, headers: Record<string, string> = {}): Reply {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: Buffer.from(JSON.stringify(value)),
  };
}

/** The standard's code of each status; a 400 may have a narrower one. */
const CODE_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'invaliddata',
  401: 'unauthorisedrequest',
  403: 'forbidden',
  404: 'unknownobject',
  405: 'invaliddata',
  429: 'server_busy',
};

/** An answer in the standard's error shape: a bare imsx_StatusInfo. Thrown where a request cannot be served. */
export class RequestRefused extends Error {
  readonly status: number;
  readonly codeMinor: string;
  readonly headers: Record<string, string>;

  constructor(
    status: number,
    description: string,
    options: {
      codeMinor?: 'invalid_filter_field' | 'invalid_selection_field';
      headers?: Record<string, string>;
    } = {},
  ) {
    super(description);
    this.name = 'RequestRefused';
    this.status = status;
    this.codeMinor = options.codeMinor ?? CODE_OF_STATUS[status] ?? 'internal_server_error';
    this.headers = options.headers ?? {};
  }
}

/** A request that makes no sense. */
export function badRequest(why: string): RequestRefused {
  return new RequestRefused(400, `The request cannot be served: ${why}.`);
}

export function refusalReply(refusal: RequestRefused): Reply {
  return jsonReply(
    refusal.status,
    {
      imsx_codeMajor: 'failure',
      imsx_severity: 'error',
      imsx_description: refusal.message,
      imsx_CodeMinor: {
        imsx_codeMinorField: [
          { imsx_codeMinorFieldName: 'TargetEndSystem', imsx_codeMinorFieldValue: refusal.codeMinor },
        ],
      },
    },
    refusal.headers,
  );
}
