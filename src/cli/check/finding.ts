import { RollcallError } from '../../errors.ts';
import { safeErrorMessage } from '../../telemetry/safe-error.ts';
import type { Output } from '../output.ts';
import { countOf, printable, wrapText } from '../../core/words.ts';

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

/** The findings of a part as aligned lines. `columns`: width of the terminal, if there is one. */
export function findingLines(
  title: string,
  findings: readonly Finding[],
  options: { colors: Output['colors']; columns?: number | undefined },
): string[] {
  const { colors, columns = Number.POSITIVE_INFINITY } = options;
  const width = Math.max(...findings.map(({ subject }) => subject.length));
  const indent = ' '.repeat(width + 6);
  const wrapped = (text: string, room: number): string[] => wrapText(printable(text), columns - room);
  return [
    colors.bold(title),
    ...findings.flatMap(({ level, subject, text, remedy }) => {
      const { mark, color } = MARKS[level];
      const [first = '', ...rest] = text.split('\n').flatMap((line) => wrapped(line.trim(), indent.length));
      const [todo, ...more] = remedy === undefined ? [] : wrapped(remedy, indent.length + 2);
      return [
        `  ${colors[color](mark)} ${subject.padEnd(width)}  ${first}`,
        ...rest.map((line) => `${indent}${line}`),
        ...(todo === undefined ? [] : [`${indent}${colors.cyan('→')} ${todo}`]),
        ...more.map((line) => `${indent}  ${line}`),
      ];
    }),
    '',
  ];
}

export function summaryLine(findings: readonly Finding[], colors: Output['colors']): string {
  const count = (wanted: Finding['level']): number => findings.filter(({ level }) => level === wanted).length;
  const [failures, warnings] = [count('failure'), count('warning')];
  const remarks = warnings === 0 ? '' : `, ${countOf(warnings, 'warning')}`;
  if (failures > 0)
    return colors.red(`✗ ${failures} of ${countOf(findings.length, 'check')} failed${remarks}`);
  return colors.green(`✓ ${countOf(findings.length, 'check')}, nothing failed${remarks}`);
}
