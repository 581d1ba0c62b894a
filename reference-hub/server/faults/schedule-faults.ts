import { refusalReply, RequestRefused } from '../reply.ts';
import type { Fault } from './fault.ts';
import { numberIn } from './fault.ts';

/** The spec leaves open what schedules look like; the server asks for these by name. */
export const SCHEDULE_FAULTS: readonly Fault[] = [
  {
    name: 'schedules-shape',
    summary:
      'body of /api/core/schedules: array, odata (in pages of 50 lessons) or schedules (which is neither)',
    value: { meaning: 'shape', byDefault: 'odata' },
  },
  {
    name: 'schedules-status',
    summary: 'schedules of these students are answered with this status; those of other students as usual',
    value: { meaning: 'status:student,…', byDefault: '404:' },
    request: ({ url, value }) => {
      const [status = '', students = ''] = value.split(/:(.*)/s);
      const student = url.searchParams.get('student') ?? '';
      if (student === '' || !students.split(',').includes(student)) return undefined;
      return refusalReply(new RequestRefused(numberIn(status), 'There is nothing of this student.'));
    },
  },
  { name: 'schedules-to-exclusive', summary: 'the day of "to" is left out of schedules' },
];
