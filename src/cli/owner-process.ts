import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** `<host>-<pid>-<8 hex digits>`: how a process names itself as an owner (pipeline/assemble.ts). */
const OWNER_NAME = /^(.+)-(\d+)-[0-9a-f]{8}$/;

/**
 * The process id of a tenant's last owner, if it is a process of this program that lives on this machine; null
 * otherwise. Of other machines nothing can be told.
 */
export function livingOwnerProcess(owner: string): number | null {
  const [, host, digits] = OWNER_NAME.exec(owner) ?? [];
  const pid = Number(digits);
  if (host !== hostname() || pid === process.pid) return null;
  try {
    // Signal 0 only asks; ids are used again, so the command line must be ours too where it can be read.
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
