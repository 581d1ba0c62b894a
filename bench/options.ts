import { parseArgs } from 'node:util';
import { LINES } from './lines.ts';

export const HELP = `npm run bench -- [--rows 100000] [--rounds 5] [--quick] [--only <line>] [--json] [--out <file>] …

Measures the cost of Rollcall against the reference hub, on real Kafka, schema registry and Redis, in ratios to a plain
download with JSON.parse of the same bytes in the same run, and says which promises about speed are met.
docs/performance.md explains the numbers.

  --rows <n>           approximate number of absence records at the hub; users and enrolments are in proportion
  --rounds <n>         how often each thing is measured
  --quick              10,000 rows and two rounds, for a try
  --only <line>        measure this line; may be repeated. Lines:
                       ${LINES.map(({ name }) => name)
                         .join(', ')
                         .replaceAll(/(.{1,88})(?:, |$)/g, '$1\n                       ')
                         .trimEnd()}
  --peers              also Redpanda Connect and dlt beside it, where Go and Python are there to build them
  --sizes <n,…>        instead of the lines: how cost and memory grow, e.g. 100000,1000000,5000000
  --json               print the numbers as JSON on standard output
  --markdown           print the lines as a Markdown table
  --out <file>         also write the numbers as JSON into this file
  --from <file>        measure nothing: print what such a file has; may be repeated, a later file replaces lines
  --docs               also put the tables into docs/performance.md
  --profile <folder>   keep the CPU profiles of the breakdown (.cpuprofile)
`;

export interface BenchOptions {
  readonly rows: number;
  readonly rounds: number;
  readonly format: 'text' | 'json' | 'markdown';
  /** Names of lines; empty: all. */
  readonly only: readonly string[];
  readonly hasPeers: boolean;
  /** Empty: the lines are measured. */
  readonly sizes: readonly number[];
  readonly outFile: string | null;
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
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      peers: { type: 'boolean', default: false },
      sizes: { type: 'string' },
      json: { type: 'boolean', default: false },
      markdown: { type: 'boolean', default: false },
      out: { type: 'string' },
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
    rows: wholeNumber('--rows', values.rows) ?? (values.quick ? 10_000 : 100_000),
    rounds: wholeNumber('--rounds', values.rounds) ?? (values.quick ? 2 : 5),
    format: values.json ? 'json' : values.markdown ? 'markdown' : 'text',
    only: values.only,
    hasPeers: values.peers,
    sizes: (values.sizes?.split(',') ?? []).map((size) => wholeNumber('--sizes', size) ?? 0),
    outFile: values.out ?? null,
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
