import type { CollectionName } from '../src/model/collections.ts';

/** A collection that is measured. */
export interface Subject {
  readonly collection: CollectionName;
  /** Its name in the control API of the reference hub. */
  readonly hubName: string;
  /** A change of content: new values of fields, different in each round. */
  readonly change: (round: number) => Readonly<Record<string, unknown>>;
}

/** Large and flat, small and nested, small and flat. */
export const SUBJECTS: readonly Subject[] = [
  {
    collection: 'absence-versions',
    hubName: 'absences',
    change: (round) => ({ absenceDurationValue: 1_000 + round }),
  },
  { collection: 'users', hubName: 'users', change: (round) => ({ middleName: `Runde ${round}` }) },
  {
    collection: 'enrollments',
    hubName: 'enrollments',
    change: (round) => ({ endDate: `2031-01-0${1 + (round % 9)}` }),
  },
];
