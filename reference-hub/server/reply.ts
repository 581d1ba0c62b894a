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

/** Codes of the standard's error shape that the hub uses. */
export type CodeMinor =
  | 'invalid_filter_field'
  | 'invalid_selection_field'
  | 'invaliddata'
  | 'unauthorisedrequest'
  | 'forbidden'
  | 'server_busy'
  | 'unknownobject'
  | 'internal_server_error';

/** An answer in the standard's error shape: a bare imsx_StatusInfo. Thrown where a request cannot be served. */
export class RequestRefused extends Error {
  readonly status: number;
  readonly codeMinor: CodeMinor;
  readonly headers: Record<string, string>;

  constructor(
    status: number,
    options: { codeMinor: CodeMinor; description: string; headers?: Record<string, string> | undefined },
  ) {
    super(options.description);
    this.name = 'RequestRefused';
    this.status = status;
    this.codeMinor = options.codeMinor;
    this.headers = options.headers ?? {};
  }
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
