import { setImmediate } from 'node:timers/promises';
import { wrapped } from './help-text.ts';
import { Command, CommanderError } from 'commander';
import { EXIT } from './exit-code.ts';
import { addGlobalOptions } from './global-options.ts';
import { reportError } from './report-error.ts';
import { packageVersion } from './package-version.ts';
import type { Verb } from './verb.ts';

const DESCRIPTION =
  'Mirrors an Education Data Hub into Kafka: every real change, once, in order, as Avro in compacted topics.';

const AFTER_HELP = `
Exit codes:
  0  success
  1  failure
  2  wrong use, or a configuration with mistakes
  3  success, but something needs a decision

Examples:
  rollcall init                       write a configuration to fill in
  rollcall check                      is every service reachable, and are the credentials right?
  rollcall run                        mirror, until stopped
  rollcall --config north.yaml status
  rollcall tail absence-versions      watch changes arrive, decoded
  rollcall run --help                 all about one verb

The configuration is ./rollcall.yaml unless --config or ROLLCALL_CONFIG names another;
examples/rollcall.yaml shows every key.`;

/** Runs a command line (without node and script) to its end and returns the exit code. Never throws. */
export async function runProgram(argv: readonly string[], verbs: readonly Verb[]): Promise<number> {
  process.exitCode = EXIT.ok;
  try {
    const program = await createProgram(argv, verbs);
    await hearSignals();
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return exitCodeOfUsage(error);
    return reportError(error, { stderr: process.stderr, env: process.env, stopped: false });
  }
  return process.exitCode;
}

/** Loading blocks the event loop: this lets a signal that arrived meanwhile take effect before the verb begins. */
async function hearSignals(): Promise<void> {
  await setImmediate();
  // The first one can run in a later phase of the same turn, which does not poll for signals.
  await setImmediate();
}

async function createProgram(argv: readonly string[], verbs: readonly Verb[]): Promise<Command> {
  const program = new Command('rollcall')
    .description(DESCRIPTION)
    .version(packageVersion(), '-V, --version', 'print the version')
    .usage('[options] <verb>')
    .commandsGroup('Verbs:')
    .enablePositionalOptions()
    .helpCommand('help [verb]', 'all about one verb')
    .addHelpText('after', wrapped(AFTER_HELP));
  const wanted = verbIn(argv, verbs);
  for (const verb of verbs) {
    const command = verb === wanted ? await verb.load() : new Command(verb.name);
    program.addCommand(command.summary(verb.summary), { hidden: verb.hidden ?? false });
  }
  addGlobalOptions(program);
  teachOnMistakes(program, 'rollcall');
  return program;
}

/** The verb on the command line, the only one whose code is loaded. */
function verbIn(argv: readonly string[], verbs: readonly Verb[]): Verb | undefined {
  const position = argv.findIndex(
    (word, index) => !word.startsWith('-') && word !== 'help' && !isValueOfConfig(argv[index - 1]),
  );
  return verbs.find((verb) => verb.name === argv[position]);
}

function isValueOfConfig(previous: string | undefined): boolean {
  return previous === '--config' || previous === '-c';
}

/** On a wrong command line, prints the mistake and the matching `--help`; never exits the process. */
function teachOnMistakes(command: Command, name: string): void {
  command
    .exitOverride()
    .configureHelp({ showGlobalOptions: false, subcommandTerm: (sub) => sub.name() })
    .configureOutput({
      outputError: (text, write) => write(`✗ ${text.replace(/^error: /, '').trim()}\n→ ${name} --help\n`),
    });
  for (const child of command.commands) teachOnMistakes(child, `${name} ${child.name()}`);
}

function exitCodeOfUsage(error: CommanderError): number {
  return error.exitCode === 0 ? EXIT.ok : EXIT.badUse;
}
