import { describe, expect, it } from 'vitest';
import { describeError } from '../../../src/errors.ts';
import { createRegistryInspection } from '../../../src/log/inspect-registry.ts';
import { kafkaError, outcomeUnknown } from '../../../src/log/kafka-errors.ts';
import { Registry } from '../../../src/log/registry.ts';
import { safeError } from '../../../src/telemetry/safe-error.ts';
import { sendJson, serve, type ScriptedServer } from '../hub/support/scripted-hub.ts';

const SCHEMA = { type: 'record', name: 'R', fields: [] } as const;
const CANARY = 'kari-nordmann-01017012345';

function shownOf(error: unknown): string {
  return `${describeError(error)} ${JSON.stringify(safeError(error))} ${JSON.stringify(error)}`;
}

/** Starts a registry that answers everything with one status and body. */
const answering = (status: number, body: string, settings = body): Promise<ScriptedServer> =>
  serve(({ path }, response) =>
    sendJson(response, path.startsWith('/config') ? settings : body, {
      status,
      headers: { location: `/${CANARY}` },
    }),
  );

describe('free text of a schema registry', () => {
  const body = JSON.stringify({ error_code: 40901, message: CANARY, compatibilityLevel: CANARY });

  it.each([200, 301, 400, 401, 403, 404, 409, 422, 500])(
    'with HTTP %i appears in no error',
    async (status) => {
      await using server = await answering(status, body);
      const registry = new Registry({ url: server.origin });
      const framed = Buffer.from([0, 0, 0, 0, 1, 2]);
      for (const attempt of [() => registry.register('s', SCHEMA), () => registry.decode(framed)]) {
        const error: unknown = await attempt().then(
          () => new Error('it was taken'),
          (failure: unknown) => failure,
        );
        expect(error).toBeInstanceOf(Error);
        expect(shownOf(error)).not.toContain(CANARY);
      }
      const { signal } = new AbortController();
      const inspection = createRegistryInspection({ url: server.origin });
      const found: unknown = await inspection
        .subject('s', {}, signal)
        .then(({ problems }) => problems.map(shownOf), shownOf);
      expect(JSON.stringify(found)).not.toContain(CANARY);
    },
  );

  it('with a schema that does not fit appears in no error', async () => {
    const level = JSON.stringify({ compatibilityLevel: 'FULL_TRANSITIVE' });
    await using server = await answering(200, CANARY, level);
    const error: unknown = await new Registry({ url: server.origin })
      .register('s', SCHEMA)
      .catch((failure: unknown) => failure);
    expect(shownOf(error)).not.toContain(CANARY);
  });
});

describe('text of Kafka or a decoder', () => {
  const named = (name: string, cause?: Error) =>
    Object.assign(new Error(CANARY, cause === undefined ? {} : { cause }), { name });

  it.each([
    ['a broker that refuses a login', named('KafkaJSSASLAuthenticationError')],
    ['a decoder', new Error(CANARY)],
    ['a decoder, wrapped by kafkajs', named('KafkaJSNumberOfRetriesExceeded', new Error(CANARY))],
  ])('of %s appears in no error', (_, error) => {
    for (const explained of [kafkaError(error, 'reading'), outcomeUnknown(error, 'users 1')]) {
      expect(shownOf(explained)).not.toContain(CANARY);
    }
  });

  it('of kafkajs itself stays readable', () => {
    const error = Object.assign(new Error('Connection timeout'), { name: 'KafkaJSConnectionError' });
    expect(kafkaError(error, 'reading').message).toContain('Connection timeout');
  });
});
