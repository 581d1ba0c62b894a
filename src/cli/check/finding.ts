import { RollcallError } from '../../errors.ts';
import { safeErrorMessage } from '../../telemetry/safe-error.ts';
import type { Output } from '../output.ts';
import { countOf, printable, wrapText } from '../../core/words.ts';

/** `warning`: it works, but the operator should know. */
export type Level = 'ok' | 'warning' | 'failure';

/** The result of one check. */
export interface Finding {
  readonly level: Level;
  readonly subject: string;
  readonly text: string;
  /** What to do; set unless the level is `ok`. */
  readonly remedy?: string | undefined;
}

/** Findings under one heading. */
export interface Section {
  readonly title: string;
  readonly tenant?: string | undefined;
  readonly findings: readonly Finding[];
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

export function hasFailure(sections: readonly Section[]): boolean {
  return sections.some(({ findings }) => findings.some(({ level }) => level === 'failure'));
}

const MARKS = {
  ok: { mark: '✓', color: 'green' },
  warning: { mark: '!', color: 'yellow' },
  failure: { mark: '✗', color: 'red' },
} as const;

/** The sections as aligned lines, and a summary line. `columns`: width of the terminal, if there is one. */
export function findingLines(
  sections: readonly Section[],
  options: { colors: Output['colors']; columns?: number | undefined },
): string[] {
  const { colors, columns = Number.POSITIVE_INFINITY } = options;
  return [
    ...sections.flatMap((section) => [...sectionLines(section, { colors, columns }), '']),
    summaryLine(sections, colors),
  ];
}

function sectionLines(
  { title, findings }: Section,
  { colors, columns }: { colors: Output['colors']; columns: number },
): string[] {
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
  ];
}

function summaryLine(sections: readonly Section[], colors: Output['colors']): string {
  const all = sections.flatMap(({ findings }) => findings);
  const count = (wanted: Level): number => all.filter(({ level }) => level === wanted).length;
  const failures = count('failure');
  const warnings = count('warning');
  const remarks = warnings === 0 ? '' : `, ${countOf(warnings, 'warning')}`;
  if (failures > 0) return colors.red(`✗ ${failures} of ${countOf(all.length, 'check')} failed${remarks}`);
  return colors.green(`✓ ${countOf(all.length, 'check')}, nothing failed${remarks}`);
}
