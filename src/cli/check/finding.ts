import { RollcallError } from '../../errors.ts';
import { safeErrorMessage } from '../../telemetry/safe-error.ts';

/** The result of one check. */
export interface Finding {
  /** `unchecked`: only named; `warning`: it works, but the operator should know. */
  readonly level: 'ok' | 'unchecked' | 'warning' | 'failure';
  readonly subject: string;
  readonly text: string;
  /** What to do about a warning or a failure. */
  readonly remedy?: string | undefined;
}

/**
 * One part that is checked, with a title and its findings. If `findings` throws an error, this error becomes the last
 * finding.
 */
export interface Probe {
  readonly title: string;
  readonly tenant?: string | undefined;
  findings(): AsyncIterable<Finding>;
}

export function ok(subject: string, text: string): Finding {
  return { level: 'ok', subject, text };
}

export function warning(subject: string, text: string, remedy: string): Finding {
  return { level: 'warning', subject, text, remedy };
}

export function failure(subject: string, text: string, remedy: string): Finding {
  return { level: 'failure', subject, text, remedy };
}

/** An error as a finding, without any text that the error quotes. */
export function failureOf(subject: string, error: unknown): Finding {
  return error instanceof RollcallError
    ? failure(subject, error.message, error.remedy)
    : failure(subject, safeErrorMessage(error), 'Please report this.');
}

export async function findingsOf(probe: Probe): Promise<Finding[]> {
  const findings: Finding[] = [];
  try {
    for await (const finding of probe.findings()) findings.push(finding);
  } catch (error) {
    findings.push(failureOf('connection', error));
  }
  return findings;
}
