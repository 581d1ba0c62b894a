import { parseJson } from './parse-json.ts';

/**
 * The codes that standards define for an error's body: `imsx_codeMajor` and `imsx_codeMinorFieldValue` (OneRoster 1.2,
 * and `deletefailure` of its gradebook), `error` of RFC 6749 5.2 and RFC 6750 3.1. Any other text may quote a row or a
 * credential, so Rollcall does not repeat it (invariant 9).
 */
const KNOWN_CODES: ReadonlySet<string> = new Set([
  'success',
  'processing',
  'failure',
  'unsupported',
  'fullsuccess',
  'invalid_filter_field',
  'invalid_selection_field',
  'invaliddata',
  'unauthorisedrequest',
  'forbidden',
  'server_busy',
  'unknownobject',
  'internal_server_error',
  'deletefailure',
  'invalid_request',
  'invalid_token',
  'insufficient_scope',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
]);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function minorCodes(info: Record<string, unknown>): readonly unknown[] {
  const minor = info['imsx_CodeMinor'] ?? info['imsx_codeMinor'];
  if (!isObject(minor)) return [minor];
  const fields = minor['imsx_codeMinorField'];
  const list: readonly unknown[] = Array.isArray(fields) ? fields : [fields];
  return list.map((field) => (isObject(field) ? field['imsx_codeMinorFieldValue'] : field));
}

export interface StatusInfo {
  /** Whether the body was JSON. */
  readonly json: boolean;
  /** Its codes that a standard defines, without duplicates. */
  readonly codes: readonly string[];
}

/**
 * Reads an error's body leniently: `imsx_StatusInfo` bare (1EdTech REST binding), wrapped in a
 * property of that name, or with a flat `imsx_codeMinor`. Real hubs use all three.
 */
export function readStatusInfo(body: string): StatusInfo {
  let parsed: unknown;
  try {
    parsed = parseJson(body);
  } catch {
    return { json: false, codes: [] };
  }
  if (!isObject(parsed)) return { json: true, codes: [] };
  const wrapped = parsed['imsx_StatusInfo'] ?? parsed['imsx_statusInfo'];
  const info = isObject(wrapped) ? wrapped : parsed;
  const candidates = [info['imsx_codeMajor'], ...minorCodes(info), info['error']];
  const codes = candidates.filter((code) => typeof code === 'string' && KNOWN_CODES.has(code)) as string[];
  return { json: true, codes: [...new Set(codes)] };
}
