import { execFile } from 'node:child_process';
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import { existsSync, globSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { StackError } from '../../../stack/errors.ts';
import { freePort } from '../../../stack/free-port.ts';
import { findInPath } from '../../../stack/java-tools.ts';
import { startLocalService } from '../../../stack/local-service.ts';
import { runCommand } from '../../../stack/run-command.ts';
import { removeWhenGone } from '../../../stack/supervised-process.ts';

const execute = promisify(execFile);
const MOST_BYTES = 256 * 1024 * 1024;

const REMEDIES = `Either
  - install PostgreSQL 14 or later on this machine (Debian: apt-get install postgresql): then a server of its own is started; or
  - name a server: --postgres postgresql://user:password@host:5432/database (psql must be installed): the user may create databases.`;

/** An empty database. */
export interface Database extends AsyncDisposable {
  /** For people and psql. */
  readonly url: URL;
  /** Runs a file of SQL. */
  runFile(path: string, variables?: Readonly<Record<string, string>>): Promise<void>;
  /** Prints the results of a file of SQL as psql shows them. */
  show(path: string): Promise<string>;
  rows<Row>(sql: string): Promise<Row[]>;
}

/** Creates a database on the named server, or on one that is started for it. It is dropped at the end. */
export async function openDatabase(named: string | null, signal: AbortSignal): Promise<Database> {
  const server = named === null ? await startServer(signal) : { url: new URL(named), stop: async () => {} };
  const name = `rollcall_sink_${process.pid}`;
  const psql = findProgram('psql');
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  const run = async (where: URL, args: readonly string[]): Promise<string> => {
    const all = [where.href, '--no-psqlrc', '--quiet', '--set=ON_ERROR_STOP=1', ...args];
    return (await execute(psql, all, { maxBuffer: MOST_BYTES })).stdout;
  };
  await run(server.url, ['-c', `CREATE DATABASE ${name}`]);
  return {
    url,
    async runFile(path, variables = {}) {
      await run(url, [
        ...Object.entries(variables).map(([key, value]) => `--set=${key}=${value}`),
        '-f',
        path,
      ]);
    },
    show: (path) => run(url, ['--echo-queries', '-f', path]),
    async rows<Row>(sql: string) {
      const text = await run(url, ['-At', '-c', `SELECT coalesce(json_agg(r), '[]') FROM (${sql}) r`]);
      return JSON.parse(text) as Row[];
    },
    async [Symbol.asyncDispose]() {
      if (named !== null) await run(server.url, ['-c', `DROP DATABASE ${name} WITH (FORCE)`]);
      await server.stop();
    },
  };
}

/** Starts a server whose data is thrown away. PostgreSQL refuses to run as root: then the server runs as the user `postgres`. */
async function startServer(signal: AbortSignal): Promise<{ url: URL; stop: () => Promise<void> }> {
  const [postgres, initdb] = [findProgram('postgres'), findProgram('initdb')];
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-postgres-'));
  const keep = removeWhenGone(folder);
  const user = process.getuid?.() === 0 ? await userPostgres() : null;
  if (user !== null) await chown(folder, user.uid, user.gid);
  const as = user === null ? [] : ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'];
  const data = join(folder, 'data');
  const initialise = [
    ...as,
    initdb,
    '-D',
    data,
    '-U',
    'rollcall',
    '--auth=trust',
    '-E',
    'UTF8',
    '--no-locale',
    '--no-sync',
  ];
  const { code, output } = await runCommand(initialise[0] ?? '', initialise.slice(1), { signal });
  if (code !== 0) throw new StackError(`initdb failed: ${output.trim()}`);
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    fsync: 'off',
    timezone: 'UTC',
  };
  const serve = [
    ...as,
    postgres,
    '-D',
    data,
    ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
  ];
  const url = new URL(`postgresql://rollcall@127.0.0.1:${port}/postgres`);
  const psql = findProgram('psql');
  const service = await startLocalService(
    {
      name: 'PostgreSQL',
      command: serve[0] ?? '',
      args: serve.slice(1),
      folder,
      isReady: async () => (await runCommand(psql, [url.href, '-c', 'SELECT 1'])).code === 0,
      readyTimeoutMs: 60_000,
      stopTimeoutMs: 10_000,
    },
    signal,
  );
  const stop = async (): Promise<void> => {
    service.kill('SIGINT'); // a fast shutdown, which does not wait for clients
    await service.stop();
    await rm(folder, { recursive: true, force: true });
    keep();
  };
  return { url, stop };
}

/** Debian has PostgreSQL's programs outside of the PATH, in a folder for each version. */
function findProgram(name: string): string {
  const newest = globSync(`/usr/lib/postgresql/*/bin/${name}`).toSorted().at(-1);
  const found = newest ?? findInPath(name);
  if (found === undefined || !existsSync(found)) throw new StackError(`${name} was not found. ${REMEDIES}`);
  return found;
}

async function userPostgres(): Promise<{ uid: number; gid: number }> {
  const line = (await readFile('/etc/passwd', 'utf8'))
    .split('\n')
    .find((each) => each.startsWith('postgres:'));
  const [, , uid, gid] = line?.split(':') ?? [];
  if (uid === undefined)
    throw new StackError(`PostgreSQL does not run as root, and there is no user postgres. ${REMEDIES}`);
  return { uid: Number(uid), gid: Number(gid) };
}
