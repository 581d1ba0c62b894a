import { parseArgs } from 'node:util';
import { brokerCount, type BrokerCount } from './broker-count.ts';
import { StackError } from './errors.ts';
import { addressVariables } from './given-addresses.ts';
import { grounds, groundVariable } from './grounds.ts';
import { startStack, type Stack } from './start-stack.ts';

const help = `npm run stack -- [--brokers 3] [--json]

Starts Kafka, a Confluent-compatible schema registry and Redis, prints their addresses, and stops them at Ctrl-C.
Each runs at the first of these places that is available:
  1. at the address in its variable: ${Object.values(addressVariables).join(', ')}
  2. in a running Docker engine: docker-compose.yml
  3. as a local process: needs Java 17 and Maven; downloaded once into ~/.cache/rollcall

  --brokers <n>   how many brokers Kafka has; 3 if left out, and another number only as local processes
  --json          print the addresses as one line of JSON on standard output
  --help          print this

${groundVariable}=<name> starts other versions, settings or a slower network, as local processes:
${Object.entries(grounds)
  .map(([name, { summary }]) => `  ${name.padEnd(15)} ${summary}`)
  .join('\n')}
`;

function describe(stack: Stack): string {
  return `
  Kafka      ${stack.kafkaBrokers.join(',')} (${stack.kind.kafka})
  registry   ${stack.registryUrl} (${stack.kind.registry})
  Redis      ${stack.redisUrl} (${stack.kind.redis})

To use them elsewhere (tests, the demo, npm run bench):
  export ${addressVariables.kafka}=${stack.kafkaBrokers.join(',')}
  export ${addressVariables.registry}=${stack.registryUrl}
  export ${addressVariables.redis}=${stack.redisUrl}
`;
}

interface Options {
  readonly brokers: BrokerCount;
  readonly isJson: boolean;
}

/** Returns null for --help. Throws an error with a message for the user on bad use. */
function readOptions(): Options | null {
  const { values } = parseArgs({
    options: {
      brokers: { type: 'string', default: '3' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  return values.help ? null : { brokers: brokerCount(values.brokers), isJson: values.json };
}

async function run({ brokers, isJson }: Options): Promise<void> {
  const print = (line: string) => process.stderr.write(`stack: ${line}\n`);
  const interrupt = new AbortController();
  const interrupted = new Promise<void>((resolve) =>
    interrupt.signal.addEventListener('abort', () => resolve()),
  );
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupt.abort());

  const started = performance.now();
  await using stack = await startStack({ print, brokers, signal: interrupt.signal });
  const { kafkaBrokers, registryUrl, redisUrl, kind } = stack;
  if (isJson) process.stdout.write(`${JSON.stringify({ kafkaBrokers, registryUrl, redisUrl, kind })}\n`);
  else process.stdout.write(describe(stack));
  print(`ready after ${((performance.now() - started) / 1000).toFixed(1)} s; Ctrl-C stops it`);

  // a pending promise alone does not keep the process alive if this process started no service
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  await interrupted;
  clearInterval(keepAlive);
  print('stopping');
}

async function main(): Promise<number> {
  let options: Options | null;
  try {
    options = readOptions();
  } catch (error) {
    process.stderr.write(`stack: ${(error as Error).message}. See npm run stack -- --help\n`);
    return 2;
  }
  if (options === null) {
    process.stdout.write(help);
    return 0;
  }
  try {
    await run(options);
    return 0;
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') return 130;
    if (!(error instanceof StackError)) throw error;
    process.stderr.write(`stack: ${error.message}\n`);
    return 1;
  }
}

process.exitCode = await main();
