import type { AbsenceChangeValue } from '../core/absence-change.ts';
import type { RowReader } from '../core/decoded-row.ts';
import type { TopicSuffix } from '../model/collections.ts';
import type { RenderAbsencesParts } from './render-absences.ts';
import type { VersionRecordParts } from './version-records.ts';

/** The parts that derive absences and their changes from versions. */
export interface TenantChains
  extends Pick<RenderAbsencesParts, 'encodeEvent' | 'absentSinceMs'>, VersionRecordParts {
  /** Encodes an event with its records. */
  readonly encodeChange: (value: AbsenceChangeValue) => Buffer;
  /** Decodes a framed value of `absence-versions`, `absences` or `absence-changes`, of any version of its schema. */
  readonly decode: (framed: Buffer, topics?: readonly TopicSuffix[]) => Promise<unknown>;
  readonly reader: RowReader;
  readonly forgetAfterMs: number;
  /** Called with the students whose current absences a committed transaction has changed. */
  readonly onStudents: (students: ReadonlySet<string>) => void;
}
