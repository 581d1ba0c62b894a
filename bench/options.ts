import { parseArgs } from 'node:util';
import { brokerCount, type BrokerCount } from '../stack/broker-count.ts';
import { LINES } from './lines.ts';

export const HELP = `npm run bench -- [--rows 100000] [--rounds 5] [--only <line>] [--json] …

Measures the cost of Rollcall against the reference hub, on real Kafka, schema registry and Redis, in ratios to a plain
download with JSON.parse of the same bytes in the same run, and says which promises about speed are met.
docs/performance.md explains the numbers.

  --rows <n>           approximate number of absence records at the hub; 10000 for a try
  --rounds <n>         how often each thing is measured
  --only <line>        measure this line; may be repeated. Lines:
                       ${LINES.map(({ name }) => name)
                         .join(', ')
                         .replaceAll(/(.{1,88})(?:, |$)/g, '$1\n                       ')
                         .trimEnd()}
  --brokers <n>        how many brokers Kafka has: 3, or 1
  --peers              also Redpanda Connect and dlt beside it, where Go and Python are there to build them
  --sizes <n,…>        instead of the lines: how cost and memory grow, e.g. 100000,1000000,5000000
  --json               print the numbers as JSON on standard output
  --from <file>        measure nothing: print what such JSON has; may be repeated, a later file replaces lines
  --docs               also put the tables into docs/performance.md
  --profile <folder>   also profile a first sync, an unchanged one and a rebuild, and keep the profiles (.cpuprofile)
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
