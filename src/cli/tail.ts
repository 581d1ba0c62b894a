import { Command, InvalidArgumentError } from 'commander';
import { isoTimes } from '../core/avro/iso-times.ts';
import { jsonOrNull } from '../core/json-or-null.ts';
import { countOf } from '../core/words.ts';
import { RollcallError } from '../errors.ts';
import { readStretches, type Stretch } from '../log/kafka-reader.ts';
import { decisionOf } from '../log/progress-codec.ts';
import type { Registry } from '../log/registry/registry.ts';
import { readSchemaFiles } from '../log/registry/schema-files.ts';
import { fetchOffsets, type TopicQuestions } from '../log/topic-offsets.ts';
import { describeSettings } from '../log/topic-settings.ts';
import type { FetchedRecord } from '../log/wire/fetched-batch.ts';
import { COLLECTIONS, OWN_TOPICS, STATE_TOPIC, type TopicSuffix } from '../model/collections.ts';
import { compositeKey } from '../model/keys.ts';
import { partsOfTopic, topicName } from '../model/topic-names.ts';
import { assemble } from '../session/assemble.ts';
import { chooseFrom, chooseTenants, type Scope } from './choose.ts';
import { packageVersion } from './package-version.ts';
import { sayHolds } from './tail/holds.ts';
import { Receipt } from './tail/receipt.ts';
import { stateTexts } from './tail/state-texts.ts';
import { verbAction, type Verb } from './verb-action.ts';
import { requireKafka } from './verb-parts.ts';

interface TailFlags extends Scope {
  readonly toEnd: boolean;
  readonly about?: string;
  readonly values: boolean;
}

/** The topics for consumers. */
const TOPICS: readonly TopicSuffix[] = [...COLLECTIONS, ...OWN_TOPICS];

/** Says in each receipt what was searched, and what was not. */
const SCOPE =
  'searched in these topics: keys, values, and what people have written about their decisions; not searched: other topics, Redis, ' +
  'backups, the copies of consumers, pseudonyms and hashes';

/** `rollcall tail`: the records of topics, decoded, as they are committed. */
export function command(): Command {
  return new Command('tail')
    .description(
      'Prints the records of topics as they are committed, each as a line of JSON: "topic", "partition", "offset", ' +
        '"timestamp", "key" and "headers". A removal also has "value": null. Other values are printed only with --values.',
    )
    .argument('[collection...]', 'collections, rejects or progress; with --about, all topics by default')
    .option('--tenant <id>', 'only this tenant')
    .option('--to-end', 'print the existing records, then end', false)
    .option('--about <id>', 'print the existing records that contain this id, then end', oneId)
    .option('--values', 'print the decoded values, too, with times as ISO 8601', false)
    .addHelpText(
      'after',
      `
Use --about to find what the topics hold about one pupil, for example. It reads every topic of the tenant to its end, and
searches every key and every field for the id as a whole word. In "progress", it also searches what people have written about
their decisions. If a value cannot be decoded, the id is found there even as a part of a longer word. ("rollcall help
remove-a-pupil" says where it does not search.) It ends with a receipt on stderr, for your files: how many records of each
topic contain the id, from when to when, how many keys still have it, whether rows are on hold, by when Kafka will have
deleted what was removed, and whether anything is left.

Examples:
  rollcall tail absence-changes                           watch absences being registered, corrected, withdrawn
  rollcall tail --tenant north --about 42                 what every topic holds about that user
  rollcall tail --about 42 > records 2> receipt           the same, and the receipt for your files
  rollcall tail rejects --to-end --values | jq -r .value.reason | sort | uniq -c

Without --to-end or --about it runs until Ctrl-C. Exit code: 0.`,
    )
    .action(verbAction(tail));
}

async function tail({ output, signal, loadConfig, args, flags }: Verb<TailFlags>): Promise<void> {
  const { about } = flags;
  const toEnd = flags.toEnd || about !== undefined;
  const config = loadConfig({ without: 'hub' });
  const { topicPrefix } = config.kafka;
  if (args.length === 0 && about === undefined)
    throw new RollcallError('USAGE_INVALID', 'No topic is named', {
      remedy: `Name at least one of: ${TOPICS.join(', ')}.`,
    });
  const suffixes = new Set(
    args.length === 0
      ? [...TOPICS, STATE_TOPIC]
      : args.map((name) => (name === STATE_TOPIC ? name : chooseFrom('topic', name, TOPICS))),
  );
  const tenants = chooseTenants(config, flags.tenant);
  const names = tenants.flatMap(({ id: tenantId }) =>
    [...suffixes].map((suffix) => topicName({ topicPrefix, tenantId }, suffix)),
  );
  let shown = 0;
  await using assembly = assemble(config);
  const search = about === undefined ? null : searchFor(about);
  const receipt = new Receipt();
  try {
    await requireKafka(assembly, signal);
    const stretches = await stretchesOf(assembly.kafka, names, toEnd);
    const topics = [...new Set(stretches.map(({ topic }) => topic))];
    if (!toEnd) output.note(`listening to ${topics.join(', ')} …`);
    await readStretches({
      kafka: assembly.kafka,
      stretches,
      awaitsDecision: true,
      signal,
      onMessages: async ({ topic, partition, messages }) => {
        for (const message of messages) {
          const found = await readRecord(assembly.registry, { topic, message }, { search, ...flags });
          const { offset, timestamp } = message;
          const of = { topic, key: String(message.key), atMs: Number(timestamp) };
          if (search !== null)
            receipt.note({ ...of, isRemoval: message.value === null, isAbout: found !== null });
          if (found === null) continue;
          const at = { offset: Number(offset), timestamp: new Date(Number(timestamp)).toISOString() };
          const record = { topic, partition, ...at, ...found };
          output.line(jsonLine(record));
          output.data(record);
          shown += 1;
        }
      },
    });
    if (about !== undefined) {
      // A reader may lack the right to see the settings. Then the times are not known.
      const settings = await describeSettings(assembly.kafka, receipt.topics).catch(
        () => new Map<string, never>(),
      );
      const onHold = await sayHolds(assembly, tenants, { contains: receipt.contains, signal });
      const who = `tenant${tenants.length === 1 ? '' : 's'} ${tenants.map(({ id }) => id).join(', ')}`;
      // On stderr, since stdout has the records.
      output.note(
        [
          countOf(shown, 'record'),
          `${who}, searched to the end at ${new Date().toISOString()} by Rollcall ${packageVersion}: ${topics.join(', ')}`,
          SCOPE,
          ...receipt.lines(settings, Date.now(), onHold),
        ].join('\n'),
      );
    }
  } catch (error) {
    // A stop, also while connecting, is a normal end.
    if (!signal.aborted) throw error;
  }
  // A receipt ends with its verdict, so the number of records does not follow it.
  if (about === undefined) output.note(countOf(shown, 'record'));
}

/** The stretch of each partition that is to be read. */
async function stretchesOf(
  kafka: TopicQuestions,
  names: readonly string[],
  toEnd: boolean,
): Promise<Stretch[]> {
  const ranges = await fetchOffsets(kafka, names, 'skipped');
  if (ranges.size === 0) {
    throw new RollcallError('KAFKA_TOPIC_MISSING', `None of these topics exists: ${names.join(', ')}`, {
      remedy:
        'Topics are created when the collection is first mirrored ("rollcall run"), or by "rollcall topics apply"; also check kafka.topicPrefix.',
    });
  }
  return [...ranges].flatMap(([topic, partitions]) =>
    partitions.map(({ partition, low, high }) => ({
      topic,
      partition,
      from: toEnd ? low : high,
      to: toEnd ? high : Infinity,
    })),
  );
}

/** A record as it is printed; null if it is not wanted. Throws `REGISTRY_…`. */
async function readRecord(
  registry: Registry,
  { topic, message }: { readonly topic: string; readonly message: FetchedRecord },
  { search, values }: { readonly search: IdSearch | null; readonly values: boolean },
): Promise<object | null> {
  const suffix = partsOfTopic(topic)?.suffix ?? '';
  const key = message.key?.toString('utf8') ?? '';
  const framed = message.value;
  const needsValue = framed !== null && suffix !== STATE_TOPIC && (values || search !== null);
  const value = needsValue ? await registry.decodeOrNull(framed) : null;
  if (search !== null && !isAbout(search, { suffix, key, message, value })) return null;
  const shown =
    framed === null
      ? { value: null }
      : values && { value: forPeople(suffix, value) ?? framed.toString('base64') };
  return { key, headers: headersOf(message), ...shown };
}

/** Whether a record contains the id. `value`: decoded; null if it is not Avro, as in `absence-state`. */
function isAbout(
  search: IdSearch,
  { message, suffix, key, value }: { message: FetchedRecord; suffix: string; key: string; value: unknown },
): boolean {
  if (suffix === 'progress') {
    // The rest of this topic is names of collections, times and counts, to which a short id may be equal.
    const { by, from, reason } = decisionOf(key, message.headers) ?? {};
    return search.isIn([by ?? '', from ?? '', reason ?? '']);
  }
  if (search.isIn(key)) return true;
  const bytes = message.value;
  if (bytes === null) return false;
  const searched = suffix === STATE_TOPIC ? stateTexts(key, bytes) : value;
  return searched == null ? search.isInBytes(bytes) : search.isIn(searched);
}

const converters = new Map<string, (value: unknown) => unknown>();

/** A decoded value with times as ISO 8601. */
function forPeople(suffix: string, value: unknown): unknown {
  if (converters.size === 0)
    for (const [name, schema] of readSchemaFiles()) converters.set(name, isoTimes(schema));
  return value === null ? null : converters.get(suffix)?.(value);
}

/** Header values as text. */
function headersOf({ headers }: FetchedRecord): Record<string, string> {
  const texts = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value.toString('utf8')] as const],
  );
  return Object.fromEntries(texts);
}

/** JSON without characters that control a terminal. JSON itself escapes only some of them. */
export function jsonLine(record: unknown): string {
  return JSON.stringify(record).replaceAll(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The parser of an option. `before`: the value of the same option, if it is given twice. */
function oneId(text: string, before: string | undefined): string {
  if (text === '') throw new InvalidArgumentError('An id is needed.');
  if (before !== undefined) throw new InvalidArgumentError('Only one id can be searched for at a time.');
  return text;
}

/** Finds an id only as a whole word: a search for `7` must not find `17`. */
export function searchFor(id: string) {
  // In a composite key the id is percent-encoded.
  const spellings = [id, compositeKey(id, '').slice(0, -1), encodeURIComponent(id)];
  const escaped = spellings.map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  const pattern = new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${escaped.join('|')})(?![\p{L}\p{N}])`, 'u');
  /** Looks into texts, names of fields and numbers. If a text is JSON, as in `rejects`, it looks into this JSON, too. */
  const isIn = (value: unknown): boolean => {
    if (typeof value === 'string') return pattern.test(value) || isIn(jsonIn(value));
    if (Array.isArray(value)) return value.some(isIn);
    if (typeof value !== 'object' || value === null) return pattern.test(String(value));
    return Object.entries(value).some(([name, inner]) => pattern.test(name) || isIn(inner));
  };
  /**
   * Looks into bytes that cannot be decoded. Where a word ends is not known in bytes, so a part of a longer word counts,
   * too.
   */
  const isInBytes = (bytes: Buffer): boolean => bytes.includes(id);
  return { isIn, isInBytes };
}

type IdSearch = ReturnType<typeof searchFor>;

/** Parses a text that is the JSON of an array or object; null for any other text. */
const jsonIn = (text: string): unknown => (/^\s*[[{]/.test(text) ? jsonOrNull(text) : null);
