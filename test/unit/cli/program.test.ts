import { EventEmitter } from 'node:events';
import { join, relative } from 'node:path';
import { Command } from 'commander';
import { expect, it, vi } from 'vitest';
import { commandsHere } from '../../../src/commands-here.ts';
import { earlyExitCode } from '../../../bin/early-stop.mjs';
import { choose, chooseTenants } from '../../../src/cli/choose.ts';
import { exitCode } from '../../../src/cli/exit-code.ts';
import { runProgram, type Verbs } from '../../../src/cli/program.ts';
import { VERBS as ALL_VERBS } from '../../../src/cli/verbs.ts';
import { verbAction, type Verb } from '../../../src/cli/verb-action.ts';
import { RollcallError } from '../../../src/errors.ts';
import { load, yamlWith } from '../config/config-text.ts';

const CHECKOUT = join(import.meta.dirname, '../../..');

function verb(
  name: string,
  body: (verb: Verb) => Promise<number | void>,
  arrange = (it: Command) => it,
): Verbs {
  const command = () => arrange(new Command(name).description(`All about ${name}.`)).action(verbAction(body));
  return { [name]: [`verb ${name}`, async () => ({ command })] };
}

const throws = (error: Error) => async (): Promise<never> => {
  throw error;
};
const shows = async ({ output, configPath, args }: Verb) => output.data({ configPath, args });
const VERBS: Verbs = {
  ...verb(
    'read',
    async ({ loadConfig }) => void loadConfig(),
    (it) => it.argument('[name]'),
  ),
  ...verb('options', shows, (it) => it.addCommand(new Command('leaf').action(verbAction(shows)))),
  ...verb('person', async () => 3),
  ...verb(
    'fail',
    throws(new RollcallError('KAFKA_UNREACHABLE', 'No broker answers', { remedy: 'Start Kafka.' })),
  ),
  ...verb('hint', throws(new RollcallError('USAGE_INVALID', 'No', { remedy: 'Run "rollcall check".' }))),
  ...verb('bug', throws(new SyntaxError('Unexpected token, "{"name":"Kari Nordmann"} is not valid JSON'))),
  ...verb('wait', async ({ signal, output }) => {
    output.line('ready');
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    signal.throwIfAborted();
  }),
  broken: ['must not be loaded', throws(new Error('was loaded'))],
};

/** Runs a command line in this process. `onReady` is called when it has written a line. */
async function run(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  onReady?: (host: EventEmitter) => void,
  verbs = VERBS,
) {
  const said = { stdout: '', stderr: '' };
  const into = (name: keyof typeof said) => ({
    write: (text: string) => {
      said[name] += text;
      if (name === 'stdout') queueMicrotask(() => onReady?.(host));
    },
  });
  const streams = { stdout: into('stdout'), stderr: into('stderr') };
  const host = Object.assign(new EventEmitter(), { ...streams, env, exitCode: undefined });
  const code = await runProgram(args, verbs, host);
  expect([host.listenerCount('SIGTERM'), host.listenerCount('SIGINT')]).toEqual([0, 0]);
  return { code, ...said };
}

it('--help loads no verb, and "help <verb>" prints the same as "<verb> --help"', async () => {
  const { code, stdout } = await run(['--help']);
  expect(code).toBe(0);
  for (const word of ['Mirrors an Education', 'Exit codes:', 'Examples:', 'verb read', '--config'])
    expect(stdout).toContain(word);
  const [first, second] = [await run(['read', '--help']), await run(['help', 'read'])];
  expect(first.stdout).toContain('All about read.');
  expect(second.stdout).toBe(first.stdout);
  expect((await run(['--version'])).stdout).toMatch(
    /^rollcall \d+\.\d+\.\d+ \(Node \d+\.\d+\.\d+, \S+ \S+\)\n$/,
  );
});

it.each([
  [['deletes', 'approve', '--reason'], ['rollcall deletes approve']],
  [['deletes', 'nothing'], ['rollcall deletes']],
  [['Plan'], ['rollcall plan']],
])('help explains a verb in any case, or its subcommand: %j', async (words, commands) => {
  const { code, stdout } = await run(['help', ...words], {}, undefined, ALL_VERBS);
  const usages = [...stdout.matchAll(/^Usage: \S*(rollcall .+?) (?:\[|<)/gm)].map(([, usage]) => usage);
  expect([code, usages]).toEqual([0, commands]);
});

it.each([[[]], [['deletes']]])(
  'without a verb or its subcommand, the usage names the command that works here: %j',
  async (args) => {
    vi.stubEnv('ROLLCALL_COMMAND', '');
    const { code, stdout, stderr } = await run(args, {}, undefined, ALL_VERBS);
    const path = `./${relative(process.cwd(), join(CHECKOUT, 'rollcall'))}`;
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr.split('\n')[0]).toContain(`Usage: ${[path, ...args].join(' ')} [options]`);
  },
);

it.each([
  [['rad'], /unknown command 'rad'[^]*read[^]*→ rollcall --help/],
  [['read', '--bogus'], /unknown option '--bogus'[^]*→ rollcall read --help/],
  [['read', 'a', 'b'], /too many arguments[^]*→ rollcall read --help/],
])('wrong use ends with 2 and points to the help: %j', async (args, expected) => {
  expect(await run(args)).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(expected) });
});

it('a known error is shown with its remedy, and with a help command that works where it is shown', async () => {
  const seen = '✗ No broker answers\n→ Start Kafka.\n  see rollcall help KAFKA_UNREACHABLE\n';
  expect(await run(['fail'])).toMatchObject({ code: 1, stderr: seen });
  for (const command of ['kubectl exec -n a deployment/b -- rollcall', '']) {
    vi.stubEnv('ROLLCALL_COMMAND', command);
    const path = command === '' ? `./${relative(process.cwd(), join(CHECKOUT, 'rollcall'))}` : command;
    expect((await run(['fail'])).stderr).toContain(`see ${path} help KAFKA_UNREACHABLE`);
  }
});

it('a printed command names the configuration that the command line has named, so that it runs as it is', async () => {
  for (const [path, shown] of [
    ['north.yaml', 'north.yaml'],
    ['the north.yaml', '"the north.yaml"'],
  ] as const) {
    const { stderr } = await run(['hint', '--config', path]);
    expect(stderr).toContain(`rollcall --config ${shown} check`);
    expect(stderr).toContain('rollcall help USAGE_INVALID');
  }
  expect((await run(['hint'])).stderr).toContain('rollcall check');
});

it('a verb after the name of the program is a command, and another word after the topic prefix is not', () => {
  vi.stubEnv('ROLLCALL_COMMAND', 'here');
  const sentence = 'groups of rollcall are granted';
  expect(commandsHere(sentence, 'north.yaml')).toBe(sentence);
  for (const verb of Object.keys(ALL_VERBS))
    expect(commandsHere(`Run "rollcall ${verb}".`)).toBe(`Run "here ${verb}".`);
});

it('an unforeseen error is one line that quotes no data, and has a stack in debug mode', async () => {
  const quiet = await run(['bug']);
  expect(quiet.stderr).toMatch(/^✗ Something unexpected[^\n]*\n→ [^\n]*ROLLCALL_DEBUG=1[^\n]*\n$/);
  expect([quiet.code, quiet.stderr]).toEqual([1, expect.not.stringContaining('Kari')]);
  expect((await run(['bug'], { ROLLCALL_DEBUG: '1' })).stderr).toMatch(/^\s+at /m);
});

it('the exit code is 2 for wrong use, 3 for a needed decision, and 1 for a failure beside any decision', async () => {
  expect((await run(['person'])).code).toBe(3);
  expect((await run(['read', '--config', '/nowhere.yaml'])).code).toBe(2);
  expect([{}, { needsPerson: true }, { hasFailed: true, needsPerson: true }].map(exitCode)).toEqual([
    0, 3, 1,
  ]);
});

it.each([
  [['run'], 0],
  [['--config', 'pull', 'run'], 0],
  [['-c', 'x.yaml', '--json', 'tail', 'users'], 0],
  [['--config', 'run', 'pull', '--full'], 1],
  [['help', 'run'], 1],
  [[], 1],
])('an early signal ends run and tail with 0, others with 1: %j', (argv, expected) => {
  expect(earlyExitCode(argv)).toBe(expected);
});

it.each([
  [['options', 'leaf', '--json'], {}, './rollcall.yaml'],
  [['options', 'leaf', '--json'], { ROLLCALL_CONFIG: 'variable' }, 'variable'],
  [['--config', 'a', '--json', 'options', 'leaf'], { ROLLCALL_CONFIG: 'variable' }, 'a'],
  [['--config', 'a', 'options', '--config', 'b', 'leaf', '--config', 'c', '--json'], {}, 'c'],
])('global options apply at any place, and win over variables (case %$)', async (args, env, configPath) => {
  expect(JSON.parse((await run(args, env)).stdout)).toEqual({ configPath, args: [] });
});

it.each(['SIGTERM', 'SIGINT'])('a verb ends by itself after %s, even if SIGTERM follows', async (signal) => {
  const ended = await run(['wait'], {}, (host) => {
    for (const each of [signal, 'SIGTERM']) host.emit(each, each);
  });
  expect(ended).toEqual({ code: 1, stdout: 'ready\n', stderr: '✗ stopped before it was done\n' });
});

it('Ctrl-C after another signal ends the program at once', async () => {
  using exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  await run(['wait'], {}, (host) => {
    for (const each of ['SIGINT', 'SIGTERM', 'SIGINT']) host.emit(each, each);
  });
  expect(exit.mock.calls).toEqual([[1]]);
});

const config = load(yamlWith());

it('a command without a tenant is for every tenant', () =>
  expect(chooseTenants(config, undefined)).toBe(config.tenants));

it.each([
  ['an unknown tenant', () => chooseTenants(config, 'nroth'), 'north', 'Choose one of: north'],
  ['an unknown collection', () => choose(config, { collection: ['lineitems'] }), 'line-items', 'line-items'],
  ["one of Rollcall's own topics", () => choose(config, { collection: ['rejects'] }), '', 'users'],
])('a command that names %s is refused with the nearest name and all others', (_, attempt, nearest, all) => {
  const message = expect.stringContaining(nearest === '' ? '' : `; did you mean ${nearest}?`) as string;
  const remedy = expect.stringContaining(all) as string;
  expect(attempt).toThrow(expect.objectContaining({ code: 'USAGE_INVALID', message, remedy }) as Error);
});
