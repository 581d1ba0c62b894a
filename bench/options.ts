import { parseArgs } from 'node:util';
import { brokerCount, type BrokerCount } from '../stack/broker-count.ts';
import { LINES } from './lines.ts';

export const HELP = `npm run bench -- [--rows 100000] [--rounds 5] [--only <line>] [--json] …

Measures what Rollcall costs with the reference hub and a real Kafka, schema registry and Redis. The costs are ratios to
a plain download of the same bytes with JSON.parse in the same run. The benchmark also says which targets are met.
docs/performance.md explains the numbers.

  --rows <n>           approximate number of absence records at the hub; use 10000 for a first try
  --rounds <n>         how often each line is measured
  --only <line>        measure only this line; may be repeated. Lines:
                       ${LINES.map(({ name }) => name)
                         .join(', ')
                         .replaceAll(/(.{1,88})(?:, |$)/g, '$1\n                       ')
                         .trimEnd()}
  --brokers <n>        how many brokers Kafka has: 3, or 1
  --peers              also measure Redpanda Connect and dlt, if Go and Python are installed to build them
  --sizes <n,…>        instead of the lines, measure how cost and memory grow with the number of absence records, for
                       example 100000,1000000,5000000
  --json               print the numbers as JSON on standard output
  --from <file>        measure nothing, and print the numbers of a file that --json has written; may be repeated, and then
                       the lines of a later file replace those of an earlier one
  --docs               also put the tables into docs/performance.md
  --profile <folder>   also profile a first sync, an unchanged sync and a rebuild of the index, and put the profiles
                       (.cpuprofile) into this folder
`;

export interface BenchOptions {
  readonly rows: number;
  readonly rounds: number;
  readonly brokers: BrokerCount;
  readonly isJson: boolean;
  /** Names of lines; empty: all. */
  readonly only: readonly string[];
  readonly hasPeers: boolean;
  /** Empty: the lines are measured. */
  readonly sizes: readonly number[];
  readonly fromFiles: readonly string[];
  readonly profileFolder: string | null;
  readonly isForDocs: boolean;
}

/** Returns null for --help. Throws an error with a message for the user on bad use. */
export function readOptions(args: readonly string[]): BenchOptions | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rows: { type: 'string' },
      rounds: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
      brokers: { type: 'string', default: '3' },
      peers: { type: 'boolean', default: false },
      sizes: { type: 'string' },
      json: { type: 'boolean', default: false },
      from: { type: 'string', multiple: true, default: [] },
      docs: { type: 'boolean', default: false },
      profile: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return null;
  const unknown = values.only.find((name) => !LINES.some((line) => line.name === name));
  if (unknown !== undefined) throw new Error(`there is no line ${unknown}`);
  return {
    rows: wholeNumber('--rows', values.rows) ?? 100_000,
    rounds: wholeNumber('--rounds', values.rounds) ?? 5,
    brokers: brokerCount(values.brokers),
    isJson: values.json,
    only: values.only,
    hasPeers: values.peers,
    sizes: (values.sizes?.split(',') ?? []).map((size) => wholeNumber('--sizes', size) ?? 0),
    fromFiles: values.from,
    profileFolder: values.profile ?? null,
    isForDocs: values.docs,
  };
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new Error(`${name} takes a whole number above 0, not ${text}`);
}
