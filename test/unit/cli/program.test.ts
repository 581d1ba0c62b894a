import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { yamlWith } from '../config/config-text.ts';

const FIXTURE = fileURLToPath(new URL('fixture-program.ts', import.meta.url));
const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'rollcall-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program and calls `onReady` with its process once it has written a line. */
function run(
  args: readonly string[],
  options: {
    script?: string;
    env?: Record<string, string>;
    onReady?: (child: ReturnType<typeof spawn>) => void;
  } = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [options.script ?? FIXTURE, ...args], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      ROLLCALL_COMMAND: 'rollcall',
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // This ends a process that would outlive its test.
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  let stdout = '';
  let stderr = '';
  child.stdout.once('data', () => options.onReady?.(child));
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

describe('help', () => {
  it('says what the program does, how it ends and how to begin, without loading a verb', async () => {
    const { code, stdout } = await run(['--help']);
    expect(code).toBe(0);
    for (const word of [
      'Mirrors an Education Data Hub',
      'Exit codes:',
      'Examples:',
      'verb load',
      '--config',
    ]) {
      expect(stdout).toContain(word);
    }
  });

  it('for one verb comes from that verb, in both spellings', async () => {
    const [first, second] = await Promise.all([run(['load', '--help']), run(['help', 'load'])]);
    expect(first.stdout).toContain('All about load.');
    expect(second.stdout).toBe(first.stdout);
  });

  it('--version of the real program names the versions of Rollcall and of Node', async () => {
    expect(await run(['--version'], { script: MAIN })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^rollcall \d+\.\d+\.\d+ \(Node \d+\.\d+\.\d+, \S+ \S+\)\n$/),
    });
  });
});

it('the reference hub of a checkout listens where --host says', async () => {
  const args = ['hub', '--json', '--host', '127.0.0.1', '--port', '0', '--students', '10'];
  const { code, stdout } = await run(args, { script: MAIN, onReady: (child) => child.kill('SIGTERM') });
  expect([code, JSON.parse(stdout)]).toMatchObject([
    0,
    { baseUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/north$/) },
  ]);
});

describe('wrong use ends with 2 and points to the help', () => {
  it.each([
    [['lod'], /unknown command 'lod'[^]*load[^]*→ rollcall --help/],
    [['load', '--bogus'], /unknown option '--bogus'[^]*→ rollcall load --help/],
    [['load', 'a', 'b'], /too many arguments[^]*→ rollcall load --help/],
    [['load', '--config'], /argument missing/],
    [[], /Usage:/],
  ])('%j', async (args, expected) => {
    const { code, stdout, stderr } = await run(args);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(expected);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

describe('errors', () => {
  it('a known error shows what happened and what to do, without a stack trace', async () => {
    const stderr = '✗ No broker answers\n→ Start Kafka.\n  see rollcall help KAFKA_UNREACHABLE\n';
    expect(await run(['fail'])).toMatchObject({ code: 1, stderr });
  });

  it.each([
    [
      'by the path of a checkout',
      '',
      relative(folder, fileURLToPath(new URL('../../../rollcall', import.meta.url))),
    ],
    ['through kubectl where the Pod says so', 'kubectl exec -n a deployment/b -- rollcall', ''],
  ])('names a command %s', async (_, command, path) => {
    const { stderr } = await run(['fail'], { env: { ROLLCALL_COMMAND: command } });
    expect(stderr).toContain(`see ${command}${path} help KAFKA_UNREACHABLE`);
  });

  it('an unknown error is one line that quotes no data, and complete in debug mode', async () => {
    const [quiet, loud] = await Promise.all([run(['bug']), run(['bug'], { env: { ROLLCALL_DEBUG: '1' } })]);
    expect(quiet.code).toBe(1);
    expect(quiet.stderr).toMatch(/^✗ Something unforeseen[^\n]*\n→ ROLLCALL_DEBUG=1[^\n]*\n$/);
    expect(quiet.stderr).not.toContain('Kari');
    expect(loud.stderr).toMatch(/^\s+at /m);
  });

  it("a verb that needs a person's decision ends with 3", async () => {
    expect((await run(['person'])).code).toBe(3);
  });
});

describe('configuration', () => {
  it('a missing file ends with 2, and the file is found by option before variable', async () => {
    const env = { ROLLCALL_CONFIG: 'from-variable.yaml' };
    const [variable, option] = await Promise.all([
      run(['load'], { env }),
      run(['--config', 'from-option.yaml', 'load'], { env }),
    ]);
    expect(variable).toMatchObject({ code: 2, stderr: expect.stringContaining('at from-variable.yaml') });
    expect(option).toMatchObject({ code: 2, stderr: expect.stringContaining('at from-option.yaml') });
  });

  it('is loaded from ./rollcall.yaml, and printed without secrets', async () => {
    writeFileSync(join(folder, 'rollcall.yaml'), yamlWith());
    const { code, stdout } = await run(['load', 'name', '--json', '--tenant', 'north'], {
      env: { HUB_SECRET: 'S3CRET' },
    });
    expect(code).toBe(0);
    expect(stdout).not.toContain('S3CRET');
    expect(JSON.parse(stdout)).toMatchObject({ args: ['name'], tenant: 'north', path: './rollcall.yaml' });
  });

  it.each([
    [['--config', 'a', '--json', 'options', 'leaf'], 'a'],
    [['options', 'leaf', '--config', 'b', '--json'], 'b'],
    [['--config', 'a', 'options', '--config', 'b', 'leaf', '--config', 'c', '--json'], 'c'],
  ])('global options apply wherever they are: %j', async (args, expected) => {
    const { stdout } = await run(args, { env: { ROLLCALL_CONFIG: 'variable' } });
    expect(JSON.parse(stdout)).toMatchObject({ configPath: expected });
  });
});

describe('signals', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('%s lets the verb end by itself', async (signal) => {
    const ended = await run(['wait'], { onReady: (child) => child.kill(signal) });
    expect(ended).toMatchObject({ code: 0, signal: null, stdout: 'ready\nstopped\n', stderr: '' });
  });

  it('a second SIGTERM is none, as where a supervisor signals a whole group of processes', async () => {
    const onReady = (child: ReturnType<typeof spawn>) => {
      for (const signal of ['SIGTERM', 'SIGTERM'] as const) child.kill(signal);
    };
    expect(await run(['wait'], { onReady })).toMatchObject({ code: 0, signal: null });
  });

  it('Ctrl-C after a signal ends a verb that does not listen', async () => {
    const ended = await run(['hang'], {
      onReady: (child) => {
        child.kill('SIGTERM');
        const again = setInterval(() => child.kill('SIGINT'), 50);
        child.once('exit', () => clearInterval(again));
      },
    });
    expect(ended).toMatchObject({ code: 1, signal: null });
  });

  it('a reader that goes away ends the program without complaint', async () => {
    const ended = await run(['chatter'], { onReady: (child) => child.stdout?.destroy() });
    expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  });
});
