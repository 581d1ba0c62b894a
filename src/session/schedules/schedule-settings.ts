import type { DayReader } from '../../core/lessons/read-days.ts';
import type { WhichStudents } from '../../core/schedules/which-students.ts';
import type { CoreApi } from '../../hub/core-api.ts';
import type { AbsentStudents } from '../../absences/absent-students.ts';

export interface ScheduleSettings {
  readonly api: CoreApi;
  readonly absent: AbsentStudents;
  readonly students: WhichStudents;
  readonly daysBack: number;
  readonly daysAhead: number;
  readonly reader: DayReader;
}
