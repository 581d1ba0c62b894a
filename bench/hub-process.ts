import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

/** A Tuesday morning in term: every run has the same rows, whatever the day. */
export const HUB_STARTS_AT = '2026-03-03T08:00:00Z';

/** `rollcall hub` in a process of its own. */
export interface HubProcess extends AsyncDisposable {
  readonly baseUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Calls the control API: GET without a body, otherwise POST. */
  control<T>(path: string, body?: unknown): Promise<T>;
}

interface Addresses {
  readonly baseUrl: string;
  readonly tokenUrl: string;
  readonly controlUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Rows of a student by that day of the school year. */
const ABSENCES_PER_STUDENT = 56;
/** Students who are absent nearly every day, and have no results: millions of absences without millions of other rows. */
const DENSE = {
  absencesPerStudent: 131,
  flags: ['--absences-per-student-year', '400', '--results-per-student-year', '0'],
};
/** Ids of millions of rows are in memory. */
const HEAP_MIB = 12_288;
/** Enough rows to make the fixed costs of a full sync small. */
const FEWEST_STUDENTS = 60;

export async function startHub(options: {
  rows: number;
  /** Number of students, in place of the one for `rows`. */
  students?: number | undefined;
  /** Fewer students, who are absent nearly every day. */
  isDense?: boolean;
  signal: AbortSignal;
}): Promise<HubProcess> {
  const project = join(import.meta.dirname, '..');
  const { isDense = false } = options;
  const each = isDense ? DENSE.absencesPerStudent : ABSENCES_PER_STUDENT;
  const { students = Math.max(FEWEST_STUDENTS, Math.ceil(options.rows / each)) } = options;
  const child = spawn(
    process.execPath,
    [
      `--max-old-space-size=${HEAP_MIB}`,
      '--import',
      join(project, 'scripts', 'end-with-parent.mjs'),
      join(project, 'bin', 'rollcall.mjs'),
    ].concat(
      ['--json', 'hub', '--port', '0'],
      ['--students', String(students), '--start', HUB_STARTS_AT],
      isDense ? DENSE.flags : [],
    ),
    { stdio: ['ignore', 'pipe', 'inherit', 'pipe'], env: { ...process.env, ROLLCALL_PARENT_FD: '3' } },
  );
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
  };
  options.signal.addEventListener('abort', () => child.kill('SIGTERM'), { once: true });
  try {
    const addresses = JSON.parse(await firstLine(child.stdout as Readable, exited)) as Addresses;
    return {
      ...addresses,
      control: (path, body) => askControl(`${addresses.controlUrl}/${path}`, body),
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function firstLine(output: Readable, exited: Promise<unknown>): Promise<string> {
  const line = async (): Promise<string> => {
    let text = '';
    for await (const piece of output) {
      text += String(piece);
      if (text.includes('\n')) break;
    }
    return text;
  };
  const ended = exited.then(() => {
    throw new Error('the reference hub ended while it was starting');
  });
  return Promise.race([line(), ended]);
}

async function askControl<T>(url: string, body: unknown): Promise<T> {
  const response = await fetch(url, body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`the hub's control API answered ${response.status}`);
  return (await response.json()) as T;
}
