import { parseArgs } from 'node:util';

export const HELP = `npm run bench -- [--rows 100000] [--rounds 5] [--quick] [--json] [--profile <folder>]

Measures the cost of Rollcall against the reference hub, on real Kafka, schema registry and Redis; the cost of
JSON.parse and of a plain download of the same bytes in the same run; and the additional cost of absences and their
changes. docs/benchmarks.md explains the numbers.

  --rows <n>           approximate number of absence records at the hub; users and enrolments are in proportion
  --rounds <n>         how often each thing is measured
  --quick              10,000 rows and two rounds, for a try
  --json               print the numbers as JSON on standard output
  --profile <folder>   keep the CPU profiles of the breakdown (.cpuprofile)
`;

export interface BenchOptions {
  readonly rows: number;
  readonly rounds: number;
  readonly json: boolean;
  readonly profileFolder: string | null;
}

/** Returns null for --help. Throws an error with a message for the user on bad use. */
export function readOptions(args: readonly string[]): BenchOptions | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rows: { type: 'string' },
      rounds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      profile: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return null;
  return {
    rows: wholeNumber('--rows', values.rows) ?? (values.quick ? 10_000 : 100_000),
    rounds: wholeNumber('--rounds', values.rounds) ?? (values.quick ? 2 : 5),
    json: values.json,
    profileFolder: values.profile ?? null,
  };
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new Error(`${name} takes a whole number above 0, not ${text}`);
}
