import { Command } from 'commander';
import { runProcess, type Verbs } from '../../../src/cli/program.ts';
import { verbAction } from '../../../src/cli/verb-action.ts';
import { RollcallError } from '../../../src/errors.ts';

/** A program with verbs made for the tests; `program.test.ts` runs it as a process of its own. */
const verbs: Verbs = {
  ...verb('load', (command) =>
    command
      .argument('[name]')
      .option('--tenant <id>')
      .action(
        verbAction<{ tenant?: string }>(async ({ output, configPath, loadConfig, args, flags }) => {
          const config = loadConfig();
          output.line(`${config.tenants.length} tenants`);
          output.data({ args, tenant: flags.tenant, path: configPath, config });
        }),
      ),
  ),
  ...verb('options', (command) => {
    const leaf = new Command('leaf').action(
      verbAction(async ({ output, configPath }) => output.data({ configPath })),
    );
    return command.addCommand(leaf);
  }),
  ...verb('person', (command) => command.action(verbAction(async () => 3))),
  ...verb('fail', (command) =>
    command.action(
      verbAction(async () => {
        throw new RollcallError('KAFKA_UNREACHABLE', 'No broker answers', { remedy: 'Start Kafka.' });
      }),
    ),
  ),
  ...verb('bug', (command) =>
    command.action(
      verbAction(async () => {
        throw new SyntaxError('Unexpected token, "{"name":"Kari Nordmann"} is not valid JSON');
      }),
    ),
  ),
  ...verb('wait', (command) =>
    command.action(
      verbAction(async ({ signal, output }) => {
        // Something must keep the process alive, as a connection does.
        const alive = setInterval(() => {}, 1000);
        output.line('ready');
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        clearInterval(alive);
        output.line('stopped');
      }),
    ),
  ),
  ...verb('hang', (command) =>
    command.action(
      verbAction(async ({ output }) => {
        setInterval(() => {}, 1000);
        output.line('ready');
        await new Promise(() => {});
      }),
    ),
  ),
  ...verb('chatter', (command) =>
    command.action(
      verbAction(async ({ output }) => {
        setInterval(() => output.line('and on'), 5);
        await new Promise(() => {});
      }),
    ),
  ),
  broken: ['must not be loaded', () => Promise.reject(new Error('was loaded'))],
};

function verb(name: string, build: (command: Command) => Command): Verbs {
  const command = (): Command => build(new Command(name).description(`All about ${name}.`));
  return { [name]: [`verb ${name}`, async () => ({ command })] };
}

await runProcess(verbs);
