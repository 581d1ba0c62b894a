import { parseArgs } from 'node:util';
import { StackError } from './errors.ts';
import { addressVariables } from './given-addresses.ts';
import { startStack, type Stack } from './start-stack.ts';

const help = `npm run stack -- [--json]

Starts Kafka, a Confluent-compatible schema registry and Redis, prints their addresses, and stops them at Ctrl-C.
Each runs at the first of these places that is available:
  1. at the address in its variable: ${Object.values(addressVariables).join(', ')}
  2. in a running Docker engine: docker-compose.yml
  3. as a local process: needs Java 17 and Maven; downloaded once into ~/.cache/rollcall

  --json   print the addresses as one line of JSON on standard output
  --help   print this
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

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help === true) {
    process.stdout.write(help);
    return;
  }
  const print = (line: string) => process.stderr.write(`stack: ${line}\n`);
  const interrupt = new AbortController();
  const interrupted = new Promise<void>((resolve) =>
    interrupt.signal.addEventListener('abort', () => resolve()),
  );
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupt.abort());

  const started = performance.now();
  await using stack = await startStack({ print, signal: interrupt.signal });
  const { kafkaBrokers, registryUrl, redisUrl, kind } = stack;
  if (values.json === true)
    process.stdout.write(`${JSON.stringify({ kafkaBrokers, registryUrl, redisUrl, kind })}\n`);
  else process.stdout.write(describe(stack));
  print(`ready after ${((performance.now() - started) / 1000).toFixed(1)} s; Ctrl-C stops it`);

  // a pending promise alone does not keep the process alive if this process started no service
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  await interrupted;
  clearInterval(keepAlive);
  print('stopping');
}

function report(error: unknown): number {
  if (error instanceof Error && error.name === 'AbortError') return 130;
  if (error instanceof StackError) {
    process.stderr.write(`stack: ${error.message}\n`);
    return 1;
  }
  const isBadUse =
    error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
  if (!isBadUse) throw error;
  process.stderr.write(`stack: ${error.message}. See npm run stack -- --help\n`);
  return 2;
}

try {
  await main();
} catch (error) {
  process.exitCode = report(error);
}
