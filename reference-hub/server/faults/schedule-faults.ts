import type { Fault } from './fault.ts';

/** The spec leaves open what schedules look like; the server asks for these by name. */
export const SCHEDULE_FAULTS: readonly Fault[] = [
  {
    name: 'schedules-shape',
    summary:
      'body of /api/core/schedules: array, odata (in pages of 50 lessons) or schedules (which is neither)',
    value: { meaning: 'shape', byDefault: 'odata' },
  },
];
