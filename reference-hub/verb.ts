import { once } from 'node:events';
import { Command, InvalidArgumentError } from 'commander';
import { verbAction, type Verb } from '../src/cli/verb-action.ts';
import { RollcallError } from '../src/errors.ts';
import { DEFAULT_SIZE as size } from './district/generate/district-plan.ts';
import { describeFaults } from './server/faults/registry.ts';
import { startReferenceHub, type ReferenceHub } from './start-reference-hub.ts';

interface HubFlags {
  host: string;
  port: number;
  students: number;
  seed: number;
  resultsPerStudentYear: number;
  absencesPerStudentYear: number;
  live: boolean;
  start?: number;
  fault?: string[];
  publicOrigin?: string;
  openControl: boolean;
}

/** `rollcall hub`: the reference hub, for trying things out and for tests. Runs until SIGINT or SIGTERM. */
export function command(): Command {
  return new Command('hub')
    .description('Serves an invented school district the way an Education Data Hub does.')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 takes any free one', wholeNumber, 8090)
    .option('--students <number>', 'number of students in the district', wholeNumber, size.students)
    .option('--seed <number>', 'the same seed, size and date give the same district', wholeNumber, 1)
    .option(
      '--results-per-student-year <number>',
      'how many results each student gets in a school year',
      wholeNumber,
      size.resultsPerStudentYear,
    )
    .option(
      '--absences-per-student-year <number>',
      'how many absences each student has in a school year',
      wholeNumber,
      size.absencesPerStudentYear,
    )
    .option(
      '--live',
      'the district changes as on a school day: absences, results and people come and go, and each night every row gets a new timestamp',
      false,
    )
    .option('--start <time>', "the hub's time at the start, ISO 8601 (default: now)", instant)
    .option('--fault <name...>', 'misbehave in this way: name[=value][@collection], see below')
    .option('--public-origin <origin>', 'origin in links, if clients reach the hub through a proxy')
    .option('--open-control', 'let other machines use the control API', false)
    .addHelpText(
      'after',
      `\nFaults (in parentheses: the value that applies if you give none):\n${describeFaults()}\n\nThe same can be switched on and off while the hub runs: POST /control/faults {"set": ["latency=500@users"]}.`,
    )
    .action(verbAction(runHub));
}

async function runHub({ output, signal, flags }: Verb<HubFlags>): Promise<void> {
  const hub = await started(flags);
  const { baseUrl, tokenUrl, controlUrl, clientId, clientSecret } = hub;
  output.data({ baseUrl, tokenUrl, controlUrl, clientId, clientSecret });
  output.line(welcome(hub, flags));
  if (!signal.aborted) await once(signal, 'abort');
  await hub.stop();
}

async function started(flags: HubFlags): Promise<ReferenceHub> {
  const { resultsPerStudentYear, absencesPerStudentYear, start, fault, ...rest } = flags;
  try {
    return await startReferenceHub({
      ...rest,
      size: { resultsPerStudentYear, absencesPerStudentYear },
      startMs: start,
      faults: fault,
    });
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const isTaken = ['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL', 'ENOTFOUND'].includes(code);
    if (!isTaken && !(error instanceof RangeError)) throw error;
    const why = isTaken ? `${flags.host}:${flags.port}: ${code}` : String(error);
    const remedy = 'rollcall hub --help lists the possible values; --port 0 takes any free port.';
    throw new RollcallError('USAGE_INVALID', `The reference hub cannot start: ${why}`, {
      remedy,
      cause: error,
    });
  }
}

function welcome(hub: ReferenceHub, flags: HubFlags): string {
  const counts = hub.district.counts();
  const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return `A hub with ${counts.students} invented students (${rows} rows)${flags.live ? ', live' : ''} is listening.
Its control API: ${hub.controlUrl}/state

For rollcall.yaml:

  tenants:
    - id: north
      hub:
        baseUrl: "${hub.baseUrl}"
        tokenUrl: "${hub.tokenUrl}"
        clientId: "${hub.clientId}"
        clientSecret: "${hub.clientSecret}"

Stop it with Ctrl-C.`;
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('A whole number is needed.');
  return Number(text);
}

function instant(text: string): number {
  const value = Date.parse(text);
  if (Number.isNaN(value)) throw new InvalidArgumentError('A time like 2026-11-20T07:15:00Z is needed.');
  return value;
}
