import { parseJson } from './parse-json.ts';

const MAX_DESCRIPTION_CHARS = 200;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function plain(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  // oxlint-disable-next-line no-control-regex -- what a server says must not steer a terminal
  const text = value.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
  if (text === '') return null;
  return text.length > MAX_DESCRIPTION_CHARS ? `${text.slice(0, MAX_DESCRIPTION_CHARS)}…` : text;
}

function minorCodes(info: Record<string, unknown>): string[] {
  const minor = info['imsx_CodeMinor'] ?? info['imsx_codeMinor'];
  if (!isObject(minor)) return [plain(minor) ?? ''];
  const fields = minor['imsx_codeMinorField'];
  const list: readonly unknown[] = Array.isArray(fields) ? fields : [fields];
  return list.map(
    (field) => (isObject(field) ? plain(field['imsx_codeMinorFieldValue']) : plain(field)) ?? '',
  );
}

/** What an error's body says. */
export interface StatusInfo {
  /** The body was JSON, whatever it said. */
  readonly json: boolean;
  /** One line of its codes and description; empty when it says nothing that can be read. */
  readonly text: string;
}

/**
 * Reads an error's body leniently: `imsx_StatusInfo` bare (1EdTech REST binding), wrapped in a
 * property of that name, or with a flat `imsx_codeMinor`; all three are seen on real hubs.
 */
export function readStatusInfo(body: string): StatusInfo {
  let parsed: unknown;
  try {
    parsed = parseJson(body);
  } catch {
    return { json: false, text: '' };
  }
  if (!isObject(parsed)) return { json: true, text: '' };
  const wrapped = parsed['imsx_StatusInfo'] ?? parsed['imsx_statusInfo'];
  const info = isObject(wrapped) ? wrapped : parsed;
  const parts = [plain(info['imsx_codeMajor']), ...minorCodes(info)].filter(
    (part) => part !== null && part !== '',
  );
  const description = plain(info['imsx_description']) ?? plain(info['error']) ?? plain(info['message']);
  const codes = parts.join(' ');
  return { json: true, text: [codes, description ?? ''].filter((part) => part !== '').join(': ') };
}
