import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** What a command cost, from its start to its end. */
export interface TimedRun {
  readonly wallMs: number;
  /** User and system time of the process and all that it waited for. */
  readonly cpuSeconds: number;
  /** The largest resident size, MiB; null where there is no `/proc`. */
  readonly peakMiB: number | null;
  readonly output: string;
}

const SAMPLE_EVERY_MS = 50;
/** The shell's `times` tells the CPU time of its children even after their end. */
const SCRIPT = '"$@"; code=$?; times >&3; exit $code';

/** Runs a command to its end. Throws with the last of its output when it fails. */
export async function timedRun(
  command: string,
  args: readonly string[],
  { env, signal }: { env: Readonly<Record<string, string>>; signal: AbortSignal },
): Promise<TimedRun> {
  const startedAtMs = performance.now();
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'sh', command, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    // the command ends with its shell
    detached: true,
  });
  const stop = (): void => {
    if (shell.pid !== undefined && shell.exitCode === null) process.kill(-shell.pid, 'SIGTERM');
  };
  signal.addEventListener('abort', stop, { once: true });
  const texts = { output: '', times: '' };
  for (const stream of [shell.stdout, shell.stderr])
    stream?.on('data', (piece: Buffer) => (texts.output = (texts.output + piece.toString()).slice(-16_000)));
  shell.stdio[3]?.on('data', (piece: Buffer) => (texts.times += piece.toString()));
  const ended = new Promise<number | null>((resolve, reject) => {
    shell.once('error', reject);
    shell.once('close', resolve);
  });
  const peakMiB = await peakUntil(shell.pid ?? 0, ended);
  const code = await ended;
  const wallMs = performance.now() - startedAtMs;
  signal.removeEventListener('abort', stop);
  signal.throwIfAborted();
  if (code !== 0) throw new Error(`${command} ended with ${String(code)}:\n${texts.output.slice(-2_000)}`);
  return { wallMs, cpuSeconds: childSeconds(texts.times), peakMiB, output: texts.output };
}

/** The second line of `times` is that of the children: user and system time as `1m2.345s`. */
function childSeconds(times: string): number {
  const line = times.trim().split('\n')[1] ?? '';
  return [...line.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
    0,
  );
}

async function peakUntil(shell: number, ended: Promise<unknown>): Promise<number | null> {
  const progress = { isOver: false };
  const end = (): boolean => (progress.isOver = true);
  const over = ended.then(end, end);
  let peak: number | null = null;
  while (!progress.isOver) {
    const now = await childPeak(shell).catch(() => null);
    if (now !== null) peak = Math.max(peak ?? 0, now);
    await Promise.race([over, delay(SAMPLE_EVERY_MS)]);
  }
  return peak;
}

async function childPeak(shell: number): Promise<number | null> {
  const [child] = (await readFile(`/proc/${shell}/task/${shell}/children`, 'utf8')).trim().split(' ');
  if (child === undefined || child === '') return null;
  const kibibytes = /^VmHWM:\s+(\d+) kB/m.exec(await readFile(`/proc/${child}/status`, 'utf8'))?.[1];
  return kibibytes === undefined ? null : Number(kibibytes) / 1_024;
}
