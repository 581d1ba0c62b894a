import type { OAuthClient } from '../config.ts';
import { RollcallError, type ErrorCode } from '../errors.ts';
import { createHttpClient } from '../hub/http.ts';
import { createTokenSource, YOUNG_TOKEN_MS, type Token } from '../hub/token.ts';
import type { Tokens } from '../log/oauth-login.ts';

/** A connection to Kafka that waits for a token is given up after 10 s. */
const ANSWERED_WITHIN_MS = 8_000;
const MAX_RESPONSE_BYTES = 1_048_576;

/**
 * For each kind of client: the error code if the token service refuses the client, and the code if the service is not
 * available.
 */
const CODES = {
  'kafka.sasl': ['KAFKA_REFUSED', 'KAFKA_UNREACHABLE'],
  'registry.oauth': ['REGISTRY_REFUSED', 'REGISTRY_UNREACHABLE'],
} as const satisfies Record<string, readonly [ErrorCode, ErrorCode]>;

/** The tokens of a client of Kafka or the registry: requested once for all connections, and again shortly before they expire. */
export function tokensOf(client: OAuthClient, of: keyof typeof CODES): Tokens {
  const { ca } = client;
  const http = createHttpClient({
    connections: 1,
    requestTimeoutMs: ANSWERED_WITHIN_MS,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    certificates: () => (ca === undefined ? {} : { ca: ca.reveal() }),
  });
  const source = createTokenSource(client, { of, http, now: Date.now, onEvent: () => undefined });
  const [refused, unavailable] = CODES[of];
  let inUse: Token | null = null;
  return {
    async get() {
      try {
        inUse = await source.get(new AbortController().signal);
        return inUse.value;
      } catch (error) {
        if (!(error instanceof RollcallError)) throw error;
        const code = error.code === 'HUB_TOKEN_REFUSED' ? refused : unavailable;
        throw new RollcallError(code, error.message, { remedy: error.remedy });
      }
    },
    refused(token) {
      // If a young token was refused, the next token would be refused, too.
      if (inUse?.value !== token || Date.now() - inUse.obtainedAtMs < YOUNG_TOKEN_MS) return false;
      source.discard(inUse);
      return true;
    },
  };
}
