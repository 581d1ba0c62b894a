import avro from 'avsc';
import { avroType } from '../core/value-codec.ts';
import { RollcallError } from '../errors.ts';
import type { AvroRecord, AvroSchema } from '../model/avro-schema.ts';
import type { TopicSuffix } from '../model/collections.ts';
import { FRAME_BYTES, isFramed } from './framing.ts';
import { COMPATIBILITY, createRegistryClient, LEVEL, RefusedRequest, SchemaType } from './registry-client.ts';
import {
  oddAnswer,
  readOnly,
  refuseUnlessOk,
  registeringError,
  schemaLost,
  statusError,
  UndecodableRecord,
  wrongId,
} from './registry-errors.ts';
import { createRegistryHttp, isReadOnly, NOT_FOUND, type RegistryConnection } from './registry-http.ts';
import { readSchemaFiles } from './schema-files.ts';

/** How long Rollcall waits before it asks again for a schema that did not fit a record: the registry may have been wrong. */
const ASK_AGAIN_AFTER_MS = 30_000;

/** The schema registry, used at the start and to read old records; never on the hot path. */
export interface Registry {
  /**
   * Registers a value schema and returns its id, after it has checked that the registry has exactly this schema under
   * the id. Refuses a level other than FULL_TRANSITIVE. Throws `REGISTRY_…`, `SCHEMA_INCOMPATIBLE`.
   */
  register(subject: string, schema: AvroRecord): Promise<number>;
  /**
   * Throws `REGISTRY_…` if the registry does not list its subjects, `SCHEMA_LOST` if it has another schema than was
   * registered, or none, under an id in use; registers nothing.
   */
  ping(): Promise<void>;
  /** Whether the last ping missed the schema under its id, and it was not registered again since. */
  isLost(id: number): boolean;
  /** Whether the registry has some version of a topic's schema under an id. Throws `REGISTRY_…`. */
  knows(id: number, topic: TopicSuffix): Promise<boolean>;
  /** Deletes a subject, softly if the registry supports it: its ids still decode. Returns false if it does not exist. */
  removeSubject(subject: string): Promise<boolean>;
  /**
   * Decodes a framed value with the schema that its id names. `topics` are the topics that the value may come from: if
   * the registry has lost that schema or has another one under the id, Rollcall tries its own schemas of those topics.
   * Throws `UndecodableRecord` when no schema fits, `REGISTRY_…` when the registry does not answer.
   */
  decode(framed: Buffer, topics?: readonly TopicSuffix[]): Promise<unknown>;
}

export function createRegistry(connection: RegistryConnection, now: () => number = Date.now): Registry {
  const { url } = connection;
  const http = createRegistryHttp(connection);
  const client = createRegistryClient(url, http);
  // A client caches schemas without end, so each lookup uses a new one.
  const schemaUnder = (id: number): Promise<unknown> => createRegistryClient(url, http).getSchema(id);
  const schemas = new SchemasById(url, schemaUnder, now);
  const ownTypes = new Map<TopicSuffix, avro.Type>();
  const inUse = new Map<string, { readonly id: number; readonly schema: AvroRecord }>();
  let lost = new Set<number>();

  function ownType(topic: TopicSuffix): avro.Type {
    const known = ownTypes.get(topic) ?? typeOf(readSchemaFiles().get(topic)?.schema);
    ownTypes.set(topic, known);
    return known;
  }

  return {
    async removeSubject(subject) {
      const answer = await http({ method: 'DELETE', path: `/subjects/${encodeURIComponent(subject)}` });
      if (answer.status === NOT_FOUND) return false;
      if (isReadOnly(answer)) throw readOnly({ url, subject });
      refuseUnlessOk(answer.status, { url, what: subject });
      return true;
    },
    async register(subject, schema) {
      const text = JSON.stringify(schema);
      const { id } = await client
        .register({ type: SchemaType.AVRO, schema: text }, { subject, compatibility: COMPATIBILITY[LEVEL] })
        .catch((error: unknown) => {
          throw registeringError(error, { url, subject });
        });
      if (!Number.isSafeInteger(id)) throw oddAnswer(url);
      await schemas.requireSame(id, { subject, schema });
      inUse.set(subject, { id, schema });
      lost.delete(id);
      return id;
    },
    async ping() {
      const { status } = await http({ method: 'GET', path: '/subjects' });
      refuseUnlessOk(status, { url, what: 'the list of subjects' });
      const byId = new Map([...inUse.values()].map(({ id, schema }) => [id, schema]));
      const types = await Promise.all([...byId.keys()].map((id) => schemas.typeUnder(id)));
      const missed = [...byId].filter(([, schema], at) => types[at]?.equals(typeOf(schema)) !== true);
      lost = new Set(missed.map(([id]) => id));
      if (lost.size === 0) return;
      schemas.forget();
      throw schemaLost([...inUse].flatMap(([subject, { id }]) => (lost.has(id) ? [subject] : [])));
    },
    isLost: (id) => lost.has(id),
    knows: async (id, topic) => (await schemas.typeUnder(id))?.name === ownType(topic).name,
    async decode(framed, topics = []) {
      const own = topics.map(ownType);
      try {
        return await schemas.decode(framed, own);
      } catch (error) {
        if (!(error instanceof UndecodableRecord)) throw error;
        const value = isFramed(framed) ? decodeWith(own, framed.subarray(FRAME_BYTES)) : undefined;
        if (value === undefined) throw error;
        return value;
      }
    },
  };
}

interface KnownSchema {
  /** Null if the registry has no schema with the id, or none in Avro. */
  readonly type: avro.Type | null;
  readonly askedAtMs: number;
}

/** Caches the registry's schemas by id. */
class SchemasById {
  readonly #url: string;
  readonly #schemaUnder: (id: number) => Promise<unknown>;
  readonly #now: () => number;
  readonly #known = new Map<number, Promise<KnownSchema>>();
  /** Verified ids by schema text, so that a schema that many subjects share is compared once. */
  readonly #same = new Map<string, number>();

  constructor(url: string, schemaUnder: (id: number) => Promise<unknown>, now: () => number) {
    this.#url = url;
    this.#schemaUnder = schemaUnder;
    this.#now = now;
  }

  /** Throws when the registry has another schema under the id that it returned for this one. */
  async requireSame(id: number, of: { subject: string; schema: AvroRecord }): Promise<void> {
    const text = JSON.stringify(of.schema);
    if (this.#same.get(text) === id) return;
    const { type } = await this.#get(id);
    if (type?.equals(typeOf(of.schema)) !== true) {
      this.#known.delete(id);
      throw wrongId(id, { url: this.#url, subject: of.subject });
    }
    this.#same.set(text, id);
  }

  /** Asks the registry for the schema under an id. */
  async typeUnder(id: number): Promise<avro.Type | null> {
    this.#known.delete(id);
    return (await this.#get(id)).type;
  }

  /** What was true of a registry that has lost schemas need not be true of it now. */
  forget(): void {
    this.#known.clear();
    this.#same.clear();
  }

  /** `types` are the expected types, in any version; without any, the registry's schema decides alone. */
  async decode(framed: Buffer, types: readonly avro.Type[]): Promise<unknown> {
    if (!isFramed(framed)) throw new UndecodableRecord(this.#url, 'misfit');
    const id = framed.readInt32BE(1);
    const { type, askedAtMs } = await this.#get(id);
    const isExpected = type !== null && (types.length === 0 || types.some(({ name }) => name === type.name));
    const value = isExpected ? decodeWith([type], framed.subarray(FRAME_BYTES)) : undefined;
    if (value !== undefined) return value;
    if (this.#now() - askedAtMs > ASK_AGAIN_AFTER_MS) this.#known.delete(id);
    throw new UndecodableRecord(this.#url, type === null ? 'unknown id' : 'misfit');
  }

  #get(id: number): Promise<KnownSchema> {
    const known = this.#known.get(id) ?? this.#ask(id);
    this.#known.set(id, known);
    return known;
  }

  async #ask(id: number): Promise<KnownSchema> {
    const schema = await this.#schemaUnder(id).catch((error: unknown) => {
      const status = error instanceof RefusedRequest ? error.status : null;
      // Any other error of the library means that the answer is no schema.
      if (status === NOT_FOUND || (status === null && !(error instanceof RollcallError))) return null;
      this.#known.delete(id);
      throw status === null ? error : statusError(status, { url: this.#url, what: 'a schema by its id' });
    });
    return { type: schema instanceof avro.Type ? schema : null, askedAtMs: this.#now() };
  }
}

/** The Avro type of a schema; its values are as avsc decodes them, without Rollcall's logical types. */
function typeOf(schema: unknown): avro.Type {
  return avroType(schema as AvroSchema);
}

/** Decodes with the first type that fits all bytes; returns undefined when none does. */
function decodeWith(types: readonly avro.Type[], body: Buffer): unknown {
  for (const type of types) {
    try {
      return type.fromBuffer(body);
    } catch {
      // The next type may fit.
    }
  }
  return undefined;
}
