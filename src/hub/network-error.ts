import { HubError } from './hub-error.ts';

const CERTIFICATE_CODES = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Returns the system's or undici's code of an error, also of a wrapped or an aggregate error; empty without one. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  // Some of undici's parser errors have no code.
  if (error.name === 'HTTPParserError' && !('code' in error && error.code)) return 'HPE_INVALID';
  if ('code' in error && typeof error.code === 'string' && error.code !== '') return error.code;
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return error.cause === undefined ? '' : codeOf(error.cause);
}

interface Explanation {
  readonly code: 'HUB_UNREACHABLE' | 'HUB_TIMEOUT';
  readonly what: string;
  readonly remedy: string;
  readonly retryable: boolean;
}

function retryable(what: string, remedy: string): Explanation {
  return { code: 'HUB_UNREACHABLE', what, remedy, retryable: true };
}

function explain(code: string, setting: string): Explanation {
  if (CERTIFICATE_CODES.has(code)) {
    return {
      code: 'HUB_UNREACHABLE',
      what: `its TLS certificate is not trusted (${code})`,
      remedy: `Check the host name in ${setting}; for a private certificate authority set NODE_EXTRA_CA_CERTS.`,
      retryable: false,
    };
  }
  if (code.startsWith('ERR_SSL') || code === 'EPROTO') {
    return {
      ...retryable(`TLS failed (${code})`, `Check whether ${setting} should begin with http:// or https://.`),
      retryable: false,
    };
  }
  if (code.startsWith('HPE_')) {
    return retryable(`the answer is not HTTP (${code})`, `Check scheme and port of ${setting}.`);
  }
  switch (code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return retryable('its host name cannot be resolved', `Check the host name in ${setting}, and DNS.`);
    case 'ECONNREFUSED':
      return retryable(
        'the connection was refused',
        `Check host and port of ${setting}, and that the service runs.`,
      );
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return retryable('there is no route to it', `Check the network, firewall and ${setting}.`);
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
      return retryable('no connection within the time limit', `Check the network, firewall and ${setting}.`);
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
      return {
        code: 'HUB_TIMEOUT',
        what:
          code === 'UND_ERR_HEADERS_TIMEOUT' ? 'it did not begin to answer in time' : 'its answer stalled',
        remedy: 'Rollcall asks for smaller pages. If this continues, lower hub.pageSize.',
        retryable: true,
      };
    case 'UND_ERR_DESTROYED':
    case 'UND_ERR_CLOSED':
      return {
        ...retryable('this client is closed', 'There is nothing to do; Rollcall is stopping.'),
        retryable: false,
      };
    default:
      return retryable(
        `the connection broke (${code})`,
        'If this continues, check the hub and the proxies before it.',
      );
  }
}

/**
 * Turns a network failure into an error that a person can act on; rethrows any other error.
 * `where` names the resource without its query, `setting` the setting that its address comes from.
 */
export function networkError(error: unknown, options: { where: string; setting: string }): HubError {
  const systemCode = codeOf(error);
  if (systemCode === '' || systemCode === 'UND_ERR_INVALID_ARG') throw error;
  const { code, what, remedy, retryable } = explain(systemCode, options.setting);
  // No cause is attached: it may contain received data (HTTPParserError.data, a certificate's names).
  return new HubError(code, `Cannot read ${options.where}: ${what}`, { remedy, retryable });
}
