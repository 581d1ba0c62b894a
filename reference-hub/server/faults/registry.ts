import type { Fault } from './fault.ts';
import { ANSWER_FAULTS } from './answer-faults.ts';
import { CONNECTION_FAULTS } from './connection-faults.ts';
import { PAGING_FAULTS } from './paging-faults.ts';
import { ROW_FAULTS } from './row-faults.ts';
import { SCHEDULE_FAULTS } from './schedule-faults.ts';

/** Every fault the hub knows, in the order in which the help lists them. */
export const FAULTS: readonly Fault[] = [
  ...CONNECTION_FAULTS,
  ...ANSWER_FAULTS,
  ...PAGING_FAULTS,
  ...ROW_FAULTS,
  ...SCHEDULE_FAULTS,
];

/** The faults for a help text: one line each. */
export function describeFaults(): string {
  return FAULTS.map((fault) => {
    const name = fault.value === undefined ? fault.name : `${fault.name}=<${fault.value.meaning}>`;
    const byDefault =
      fault.value === undefined || fault.value.byDefault === '' ? '' : ` (${fault.value.byDefault})`;
    return `  ${name.padEnd(30)} ${fault.summary}${byDefault}`;
  }).join('\n');
}
