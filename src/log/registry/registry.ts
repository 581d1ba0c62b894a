import type { SchemaRegistry as RegistryClient } from '@kafkajs/confluent-schema-registry';
import avro from 'avsc';
import { RollcallError } from '../../errors.ts';
import type { AvroRecord } from '../../model/avro-schema.ts';
import type { TopicSuffix } from '../../model/collections.ts';
import { FRAME_BYTES, isFramed } from './framing.ts';
import { COMPATIBILITY, createRegistryClient, LEVEL, RefusedRequest, SchemaType } from './registry-client.ts';
import {
  notARegistry,
  readOnly,
  refuseUnlessOk,
  registeringError,
  schemaLost,
  statusError,
  UndecodableRecord,
  wrongId,
} from './registry-errors.ts';
import {
  createRegistryHttp,
  isReadOnly,
  NOT_FOUND,
  type RegistryConnection,
  type RegistryHttp,
} from './registry-http.ts';
import { readSchemaFiles } from './schema-files.ts';

/** A schema that was registered. */
interface Registered {
  readonly id: number;
  readonly type: avro.Type;
  /** Whether the registry had another schema, or none, under the id when it was last asked. */
  isLost: boolean;
}

/** The schema registry, used at the start and to read old records; never on the hot path. */
export class Registry {
  readonly #url: string;
  readonly #http: RegistryHttp;
  readonly #client: RegistryClient;
  /** What the registry has under an id; null if that is no Avro schema. */
  readonly #known = new Map<number, Promise<avro.Type | null>>();
  readonly #ownTypes = new Map<TopicSuffix, avro.Type>();
  /**
   * Compiled types of Rollcall's own schemas, by their text. The registry answers with the same text. Compiling a type
   * takes milliseconds.
   */
  readonly #compiled = new Map<string, avro.Type>();
  /** The schemas in use, by subject. */
  readonly #registered = new Map<string, Registered>();

  constructor(connection: RegistryConnection) {
    this.#url = connection.url;
    this.#http = createRegistryHttp(connection);
    this.#client = createRegistryClient(connection.url, this.#http, this.#compiled);
  }

  /**
   * Registers a value schema and returns its id, after it has checked that the registry has exactly this schema under
   * the id. Refuses a level other than FULL_TRANSITIVE. Throws `REGISTRY_…`, `SCHEMA_INCOMPATIBLE`.
   */
  async register(subject: string, schema: AvroRecord): Promise<number> {
    const text = JSON.stringify(schema);
    const type = this.#typeOf(schema);
    const at = { url: this.#url, subject };
    const { id } = await this.#client
      .register({ type: SchemaType.AVRO, schema: text }, { subject, compatibility: COMPATIBILITY[LEVEL] })
      .catch((error: unknown) => {
        throw registeringError(error, at);
      });
    if (!Number.isSafeInteger(id)) throw notARegistry(this.#url);
    // A registry that has lost its schemas assigns their ids to other schemas. Then what is remembered about an id is
    // wrong.
    if (!isSame(await this.#typeUnder(id), type)) this.#known.delete(id);
    if (!isSame(await this.#typeUnder(id), type)) throw wrongId(id, at);
    this.#registered.set(subject, { id, type, isLost: false });
    return id;
  }

  /**
   * Throws `REGISTRY_…` if the registry does not list its subjects, `SCHEMA_LOST` if it has another schema than was
   * registered, or none, under an id in use; registers nothing.
   */
  async ping(): Promise<void> {
    const { status } = await this.#http({ method: 'GET', path: '/subjects' });
    refuseUnlessOk(status, { url: this.#url, what: 'the list of subjects' });
    // What the registry has said of an id may be wrong by now.
    this.#known.clear();
    const registered = [...this.#registered];
    const found = await Promise.all(registered.map(([, { id }]) => this.#typeUnder(id)));
    for (const [at, [, each]] of registered.entries()) each.isLost = !isSame(found[at], each.type);
    const lost = registered.flatMap(([subject, { isLost }]) => (isLost ? [subject] : []));
    if (lost.length > 0) throw schemaLost(lost);
  }

  /** Whether the last ping missed the schema of a subject, and the schema was not registered again since. */
  isLost(subject: string): boolean {
    return this.#registered.get(subject)?.isLost === true;
  }

  /** Whether the registry has some version of a topic's schema under an id. Throws `REGISTRY_…`. */
  async knows(id: number, topic: TopicSuffix): Promise<boolean> {
    this.#known.delete(id);
    return (await this.#typeUnder(id))?.name === this.#ownType(topic).name;
  }

  /** Deletes a subject, softly if the registry supports it: its ids still decode. */
  async removeSubject(subject: string): Promise<void> {
    const url = this.#url;
    const answer = await this.#http({ method: 'DELETE', path: `/subjects/${encodeURIComponent(subject)}` });
    if (answer.status === NOT_FOUND) return;
    if (isReadOnly(answer)) throw readOnly({ url, subject });
    refuseUnlessOk(answer.status, { url, what: subject });
  }

  /**
   * Decodes a framed value with the schema that its id names. `topics` are the topics that the value may come from. If
   * the registry has lost the schema, or has the schema of another topic under the id, Rollcall tries its own schemas
   * of these topics. If `topics` is empty, only the schema in the registry counts. Throws `UndecodableRecord` when no
   * schema fits, `REGISTRY_…` when the registry does not answer.
   */
  async decode(framed: Buffer, topics: readonly TopicSuffix[] = []): Promise<unknown> {
    if (!isFramed(framed)) throw new UndecodableRecord(this.#url, 'misfit');
    const own = topics.map((topic) => this.#ownType(topic));
    const body = framed.subarray(FRAME_BYTES);
    const type = await this.#typeUnder(framed.readInt32BE(1));
    const isExpected = type !== null && (own.length === 0 || own.some(({ name }) => name === type.name));
    const value = isExpected ? decodeWith([type], body) : undefined;
    if (value !== undefined) return value;
    const byOwn = decodeWith(own, body);
    if (byOwn === undefined) throw new UndecodableRecord(this.#url, type === null ? 'unknown id' : 'misfit');
    return byOwn;
  }

  /** As {@link decode}, but returns null when no schema fits. */
  async decodeOrNull(framed: Buffer, topics?: readonly TopicSuffix[]): Promise<unknown> {
    return this.decode(framed, topics).catch((error: unknown) => {
      if (error instanceof UndecodableRecord) return null;
      throw error;
    });
  }

  #ownType(topic: TopicSuffix): avro.Type {
    const known = this.#ownTypes.get(topic) ?? this.#typeOf(readSchemaFiles().get(topic));
    this.#ownTypes.set(topic, known);
    return known;
  }

  /** The Avro type of an own schema; its values are as avsc decodes them, without Rollcall's logical types. */
  #typeOf(schema: unknown): avro.Type {
    const text = JSON.stringify(schema);
    const type = this.#compiled.get(text) ?? avro.Type.forSchema(schema as avro.Schema);
    this.#compiled.set(text, type);
    return type;
  }

  #typeUnder(id: number): Promise<avro.Type | null> {
    const known = this.#known.get(id) ?? this.#ask(id);
    this.#known.set(id, known);
    return known;
  }

  async #ask(id: number): Promise<avro.Type | null> {
    // A client caches schemas without end, so each lookup uses a new one.
    const client = createRegistryClient(this.#url, this.#http, this.#compiled);
    const schema = await client.getSchema(id).catch((error: unknown) => {
      const status = error instanceof RefusedRequest ? error.status : null;
      // Any other error of the library means that the answer is not a schema.
      if (status === NOT_FOUND || (status === null && !(error instanceof RollcallError))) return null;
      this.#known.delete(id);
      throw status === null ? error : statusError(status, { url: this.#url, what: 'a schema by its id' });
    });
    return schema instanceof avro.Type ? schema : null;
  }
}

/**
 * Whether two types are equal. `===` comes first only because it is faster: `equals` of avsc makes a digest of both
 * types.
 */
function isSame(type: avro.Type | null | undefined, own: avro.Type): boolean {
  return type === own || type?.equals(own) === true;
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
