import { setImmediate } from 'node:timers/promises';
import { Command, CommanderError } from 'commander';
import { commandsHere } from '../commands-here.ts';
import { EXIT } from './exit-code.ts';
import { helpCommand } from './help.ts';
import type { Host } from './output.ts';
import { reportError } from './report-error.ts';
import { packageVersion } from './package-version.ts';

/** Verbs by name; the code of one is loaded only when it is called. */
export type Verbs = Readonly<
  Record<string, readonly [summary: string, load: () => Promise<{ command: () => Command }>]>
>;

const DESCRIPTION =
  'Mirrors an Education Data Hub into Kafka: every real change, once, in order, as Avro in compacted topics.';

const AFTER_HELP = `
Exit codes:
  0  success
  1  failure
  2  wrong use, or a configuration with mistakes
  3  success, but a person must decide something

Examples:
  rollcall init                       write a configuration to fill in
  rollcall check                      is every service reachable, and are the credentials right?
  rollcall run                        mirror, until stopped
  rollcall --config north.yaml status
  rollcall tail absence-versions      watch changes arrive, decoded
  rollcall run --help                 explain one verb and its options
  rollcall help KAFKA_UNREACHABLE     what to do about an error

A verb that publishes asks the running process of the tenant to do the work. If no process is running, the verb does the work
itself. Without redis, a verb does not see a process on another machine, and takes the tenant over from that process.

The configuration is ./rollcall.yaml unless --config or ROLLCALL_CONFIG names another;
"rollcall help configuration" explains every key.`;

/** How long open connections may keep a finished program alive. */
const LINGER_MS = 2000;

/** Runs the command line of this process, and ends the process with its exit code. */
export async function runProcess(verbs: Verbs): Promise<void> {
  // A reader that closed the pipe (`rollcall tail | head`) is not a failure.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit();
      throw error;
    });
  }
  process.exitCode = await runProgram(process.argv.slice(2), verbs, process);
  // The verb has removed its listeners: a signal now only shortens the wait.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit());
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

/** Runs a command line (without node and script) to its end and returns the exit code. Never throws. */
export async function runProgram(argv: readonly string[], verbs: Verbs, host: Host): Promise<number> {
  host.exitCode = EXIT.ok;
  try {
    // "help Verify" is the same as "help verify".
    const wanted = verbIn(argv)?.toLowerCase();
    const program = await createProgram(verbs, host, (name) => name === wanted);
    await hearSignals();
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.badUse;
    return reportError(error, { host, stopped: false });
  }
  return host.exitCode;
}

/** Loading blocks the event loop: this lets a signal that arrived meanwhile take effect before the verb begins. */
async function hearSignals(): Promise<void> {
  await setImmediate();
  // The first one can run in a later phase of the same turn, which does not poll for signals.
  await setImmediate();
}

/** `isLoaded`: whether to load the code of a verb. The usage lists the other verbs without it. */
async function createProgram(
  verbs: Verbs,
  host: Host,
  isLoaded: (verb: string) => boolean,
): Promise<Command> {
  const program = new Command('rollcall')
    .description(DESCRIPTION)
    .version(
      `rollcall ${packageVersion} (Node ${process.versions.node}, ${process.platform} ${process.arch})`,
      '-V, --version',
      'print the versions of Rollcall and Node',
    )
    .option('-c, --config <file>', 'the configuration (default: ROLLCALL_CONFIG, or ./rollcall.yaml)')
    .option('--json', 'print JSON, for programs')
    .option('--no-color', 'print without colours (as NO_COLOR does)')
    .usage('[options] <verb>')
    .commandsGroup('Verbs:')
    .helpCommand(false)
    .addHelpText('after', AFTER_HELP);
  for (const [name, [summary, load]] of Object.entries(verbs)) {
    const command = isLoaded(name) ? (await load()).command() : new Command(name);
    program.addCommand(command.summary(summary));
  }
  const help = helpCommand(program);
  program.addCommand(help.summary('explain a verb, an error or an alert, or print a page'));
  teachOnMistakes(program, 'rollcall', host);
  return program.setOptionValue('#host', host);
}

/** The name of the verb on the command line, the only one whose code is loaded. */
function verbIn(argv: readonly string[]): string | undefined {
  return argv.find(
    (word, at) =>
      !word.startsWith('-') && word !== 'help' && !['--config', '-c'].includes(argv[at - 1] ?? ''),
  );
}

/** On a wrong command line, prints the mistake and the matching `--help`; never exits the process. */
function teachOnMistakes(command: Command, name: string, host: Host): void {
  command
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, subcommandTerm: (sub) => sub.name() })
    .configureOutput({
      writeOut: (text) => host.stdout.write(commandsHere(text)),
      writeErr: (text) => host.stderr.write(commandsHere(text)),
      outputError: (text) => {
        host.stderr.write(commandsHere(`✗ ${text.replace(/^error: /, '').trim()}\n→ ${name} --help\n`));
      },
    });
  for (const child of command.commands) teachOnMistakes(child, `${name} ${child.name()}`, host);
}
