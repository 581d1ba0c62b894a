import { RollcallError } from '../../errors.ts';
import { safeErrorMessage } from '../../telemetry/safe-error.ts';
import type { Output } from '../output.ts';
import { countOf, printable } from '../../core/words.ts';

/** The result of one check. */
export interface Finding {
  /** `warning`: it works, but the operator should know. */
  readonly level: 'ok' | 'warning' | 'failure';
  readonly subject: string;
  readonly text: string;
  /** What to do; set unless the level is `ok`. */
  readonly remedy?: string | undefined;
}

/** One part that is checked: its findings, under a title. An error that it throws is the last one. */
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
  if (error instanceof RollcallError) return failure(subject, error.message, error.remedy);
  return failure(
    subject,
    safeErrorMessage(error),
    'Please report this. ROLLCALL_DEBUG=1 shows more, with other verbs than check.',
  );
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

const MARKS = {
  ok: { mark: '✓', color: 'green' },
  warning: { mark: '!', color: 'yellow' },
  failure: { mark: '✗', color: 'red' },
} as const;

/** The findings of a part as aligned lines. */
export function findingLines(
  title: string,
  findings: readonly Finding[],
  colors: Output['colors'],
): readonly string[] {
  const width = Math.max(...findings.map(({ subject }) => subject.length));
  const indent = ' '.repeat(width + 6);
  const lines = findings.flatMap(({ level, subject, text, remedy }) => {
    const { mark, color } = MARKS[level];
    const [first = '', ...rest] = text.split('\n').map((line) => printable(line.trim()));
    const found = [`  ${colors[color](mark)} ${subject.padEnd(width)}  ${first}`];
    if (remedy !== undefined) rest.push(`${colors.cyan('→')} ${printable(remedy)}`);
    return found.concat(rest.map((line) => indent + line));
  });
  return [colors.bold(title), ...lines, ''];
}

export function summaryLine(findings: readonly Finding[], colors: Output['colors']): string {
  const count = (wanted: Finding['level']): number => findings.filter(({ level }) => level === wanted).length;
  const [failures, warnings] = [count('failure'), count('warning')];
  const remarks = warnings === 0 ? '' : `, ${countOf(warnings, 'warning')}`;
  if (failures > 0)
    return colors.red(`✗ ${failures} of ${countOf(findings.length, 'check')} failed${remarks}`);
  return colors.green(`✓ ${countOf(findings.length, 'check')}, nothing failed${remarks}`);
}
