import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** `<host>-<pid>-<8 hex digits>`: the name of an owner (pipeline/assemble.ts). */
const OWNER_NAME = /^(.+)-(\d+)-[0-9a-f]{8}$/;

/**
 * The process id of a tenant's last owner, if that is a living process of this program on this machine; null otherwise,
 * and always for an owner on another machine.
 */
export function livingOwnerProcess(owner: string): number | null {
  const [, host, digits] = OWNER_NAME.exec(owner) ?? [];
  const pid = Number(digits);
  if (host !== hostname() || pid === process.pid) return null;
  try {
    // Signal 0 only tests. The system reuses ids, so a readable command line must be one of this program.
    process.kill(pid, 0);
  } catch {
    return null;
  }
  const commandLine = commandLineOf(pid);
  return commandLine === null || commandLine.includes('rollcall') ? pid : null;
}

function commandLineOf(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return null;
  }
}
