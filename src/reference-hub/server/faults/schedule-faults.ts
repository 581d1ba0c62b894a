import type { Fault } from './fault.ts';

/** The spec leaves open what schedules look like; the server asks for these by name. */
export const SCHEDULE_FAULTS: readonly Fault[] = [
  {
    name: 'schedules-shape',
    summary:
      'body of /api/core/schedules: array, schedules, odata or hal; the last two in pages of 50 lessons',
    value: { meaning: 'shape', byDefault: 'hal' },
  },
  { name: 'schedules-to-exclusive', summary: 'the day of "to" is left out of schedules' },
];
