import type { Mechanism } from 'kafkajs';
import { RollcallError } from '../errors.ts';

/** Tokens for a service that takes them in place of passwords. */
export interface Tokens {
  /** Returns the token in use, or a new one. Throws `KAFKA_…` or `REGISTRY_…` where there is none. */
  get(): Promise<string>;
  /** Notes that the service refused a token. Returns whether another attempt would use another token. */
  refused(token: string): boolean;
}

/** Separates the parts of a message, and is the answer to a refusal (RFC 7628). */
const SEPARATOR = '\u0001';
/** kafkajs puts the length of a text before the text. */
const LENGTH_BYTES = 4;

/**
 * Logs in with a token (SASL OAUTHBEARER, RFC 7628), once for each connection.
 * kafkajs' own log-in mistakes a refusal for success: a broker first answers with the reason of the refusal, and only
 * its answer to the next message is an error.
 */
export function oauthLogin(tokens: Tokens, extensions: Readonly<Record<string, string>> = {}): Mechanism {
  return {
    mechanism: 'oauthbearer',
    authenticationProvider: ({ saslAuthenticate }) => ({
      async authenticate() {
        const token = await tokens.get();
        const send = (text: string) =>
          saslAuthenticate({
            request: { encode: () => withLength(text) },
            response: {
              decode: (answer) => answer,
              parse: (answer) => answer.toString('utf8', LENGTH_BYTES),
            },
          });
        const fields = Object.entries({ auth: `Bearer ${token}`, ...extensions });
        const pairs = fields.map(([name, value]) => `${name}=${value}${SEPARATOR}`);
        const refusal = await send(`n,,${SEPARATOR}${pairs.join('')}${SEPARATOR}`);
        if (refusal === undefined || refusal === '') return;
        tokens.refused(token);
        // The broker closes the connection when it has this answer.
        await send(SEPARATOR).catch(() => undefined);
        throw tokenRefused(refusal);
      },
    }),
  };
}

function withLength(text: string): Buffer {
  const bytes = Buffer.from(`\0\0\0\0${text}`);
  bytes.writeInt32BE(bytes.length - LENGTH_BYTES);
  return bytes;
}

function tokenRefused(refusal: string): RollcallError {
  // Any other text may quote the token.
  const status = /"status" *: *"([a-z_]{1,40})"/.exec(refusal)?.[1] ?? 'without a status';
  return new RollcallError('KAFKA_REFUSED', `Kafka refuses the token of kafka.sasl (${status})`, {
    remedy:
      'Check kafka.sasl.scope and audience, and what the brokers expect of a token: its issuer, its audience, and the keys that sign it (JWKS). Check the clocks of the brokers, too. The log of the broker says what was wrong.',
  });
}
