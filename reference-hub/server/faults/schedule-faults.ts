import type { Fault } from './fault.ts';

/** The spec leaves open what schedules look like; the server asks for these by name. */
export const SCHEDULE_FAULTS: readonly Fault[] = [
  {
    name: 'schedules-shape',
    summary:
      'body of /api/core/schedules: array; odata ({"value": […]}, 50 lessons per page); or schedules ({"schedules": […]}, which Rollcall cannot read)',
    value: { meaning: 'shape', byDefault: 'odata' },
  },
];
