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

/** How long Rollcall waits before it asks again for a schema that did not fit a record: the registry may have been wrong. */
const ASK_AGAIN_AFTER_MS = 30_000;

interface KnownSchema {
  /** Null if the registry has no schema with the id, or none in Avro. */
  readonly type: avro.Type | null;
  readonly askedAtMs: number;
}

/** The schema registry, used at the start and to read old records; never on the hot path. */
export class Registry {
  readonly #url: string;
  readonly #http: RegistryHttp;
  readonly #client: RegistryClient;
  readonly #now: () => number;
  readonly #known = new Map<number, Promise<KnownSchema>>();
  readonly #ownTypes = new Map<TopicSuffix, avro.Type>();
  /**
   * Compiled types of Rollcall's own schemas, by their text. The registry answers with the same text. Compiling a type
   * takes milliseconds.
   */
  readonly #compiled = new Map<string, avro.Type>();
  /** The schemas in use, by subject; `place`: see {@link placeOf}. */
  readonly #inUse = new Map<
    string,
    { readonly id: number; readonly schema: AvroRecord; readonly place: string }
  >();
  /** What the last ping missed, as {@link placeOf} names it. */
  #lost: ReadonlySet<string> = new Set();

  constructor(connection: RegistryConnection, now: () => number = Date.now) {
    this.#url = connection.url;
    this.#http = createRegistryHttp(connection);
    this.#client = createRegistryClient(connection.url, this.#http, this.#compiled);
    this.#now = now;
  }

  /**
   * Registers a value schema and returns its id, after it has checked that the registry has exactly this schema under
   * the id. Refuses a level other than FULL_TRANSITIVE. Throws `REGISTRY_…`, `SCHEMA_INCOMPATIBLE`.
   */
  async register(subject: string, schema: AvroRecord): Promise<number> {
    const text = JSON.stringify(schema);
    const own = this.#typeOf(schema);
    const at = { url: this.#url, subject };
    const { id } = await this.#client
      .register({ type: SchemaType.AVRO, schema: text }, { subject, compatibility: COMPATIBILITY[LEVEL] })
      .catch((error: unknown) => {
        throw registeringError(error, at);
      });
    if (!Number.isSafeInteger(id)) throw notARegistry(this.#url);
    // A registry that lost its schemas gives their ids again: what it said of one before that is not true any more.
    if (!isSame((await this.#get(id)).type, own)) this.#known.delete(id);
    if (!isSame((await this.#get(id)).type, own)) throw wrongId(id, at);
    const place = placeOf(id, `${schema.namespace}.${schema.name}`);
    this.#inUse.set(subject, { id, schema, place });
    // Another tenant may still use the id for another schema: a registry that lost its schemas gives their ids out again.
    this.#lost = new Set([...this.#lost].filter((each) => each !== place));
    return id;
  }

  /**
   * Throws `REGISTRY_…` if the registry does not list its subjects, `SCHEMA_LOST` if it has another schema than was
   * registered, or none, under an id in use; registers nothing.
   */
  async ping(): Promise<void> {
    const { status } = await this.#http({ method: 'GET', path: '/subjects' });
    refuseUnlessOk(status, { url: this.#url, what: 'the list of subjects' });
    const used = [...new Map([...this.#inUse.values()].map((each) => [each.place, each])).values()];
    const types = await Promise.all(used.map(({ id }) => this.#typeUnder(id)));
    const missed = used.filter(({ schema }, at) => !isSame(types[at], this.#typeOf(schema)));
    const lost = new Set(missed.map(({ place }) => place));
    this.#lost = lost;
    if (lost.size === 0) return;
    // What a registry said before it lost its schemas may be wrong now.
    this.#known.clear();
    throw schemaLost([...this.#inUse].flatMap(([subject, { place }]) => (lost.has(place) ? [subject] : [])));
  }

  /** Whether the last ping missed a topic's schema under this id, and it was not registered there again since. */
  isLost(id: number, topic: TopicSuffix): boolean {
    return this.#lost.has(placeOf(id, this.#ownType(topic).name));
  }

  /** Whether the registry has some version of a topic's schema under an id. Throws `REGISTRY_…`. */
  async knows(id: number, topic: TopicSuffix): Promise<boolean> {
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
   * Decodes a framed value with the schema that its id names. `topics` are the topics that the value may come from,
   * without any the registry's schema decides alone: if the registry has lost that schema or has another one under the
   * id, Rollcall tries its own schemas of those topics. Throws `UndecodableRecord` when no schema fits, `REGISTRY_…` when
   * the registry does not answer.
   */
  async decode(framed: Buffer, topics: readonly TopicSuffix[] = []): Promise<unknown> {
    if (!isFramed(framed)) throw new UndecodableRecord(this.#url, 'misfit');
    const own = topics.map((topic) => this.#ownType(topic));
    const body = framed.subarray(FRAME_BYTES);
    const id = framed.readInt32BE(1);
    const { type, askedAtMs } = await this.#get(id);
    const isExpected = type !== null && (own.length === 0 || own.some(({ name }) => name === type.name));
    const value = isExpected ? decodeWith([type], body) : undefined;
    if (value !== undefined) return value;
    if (this.#now() - askedAtMs > ASK_AGAIN_AFTER_MS) this.#known.delete(id);
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

  /** Asks the registry for the schema under an id. */
  async #typeUnder(id: number): Promise<avro.Type | null> {
    this.#known.delete(id);
    return (await this.#get(id)).type;
  }

  #get(id: number): Promise<KnownSchema> {
    const known = this.#known.get(id) ?? this.#ask(id);
    this.#known.set(id, known);
    return known;
  }

  async #ask(id: number): Promise<KnownSchema> {
    // A client caches schemas without end, so each lookup uses a new one.
    const client = createRegistryClient(this.#url, this.#http, this.#compiled);
    const schema = await client.getSchema(id).catch((error: unknown) => {
      const status = error instanceof RefusedRequest ? error.status : null;
      // Any other error of the library means that the answer is not a schema.
      if (status === NOT_FOUND || (status === null && !(error instanceof RollcallError))) return null;
      this.#known.delete(id);
      throw status === null ? error : statusError(status, { url: this.#url, what: 'a schema by its id' });
    });
    return { type: schema instanceof avro.Type ? schema : null, askedAtMs: this.#now() };
  }
}

/** Names a schema under an id: another schema under the same id has another place. */
function placeOf(id: number, name: string | undefined): string {
  return `${id} ${name}`;
}

/** The first comparison is only faster: avsc makes a digest of both types. */
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
