import type { CollectionName } from '../../model/collections.ts';

/**
 * - `missing`: the hub has it, the topic does not
 * - `left-over`: the topic has it, the hub does not
 * - `different`: both have it, with other content
 * - `undecodable`: the record cannot be read, lacks what the contract asks for, or is not what its hash says
 * - `gap`: a step of an absence is missing among those told, or stands there twice
 * - `two-students`: records of two students stand under one absence id
 * - `reject-missing`, `reject-left-over`: the same of rows that cannot be read
 * - `index`: the index says something else than the topic
 */
export const DIFFERENCE_KINDS = [
  'missing',
  'left-over',
  'different',
  'undecodable',
  'gap',
  'two-students',
  'reject-missing',
  'reject-left-over',
  'index',
] as const;

export type DifferenceKind = (typeof DIFFERENCE_KINDS)[number];

/**
 * - `wrong`: nothing will cure it by itself
 * - `pending`: changed at the hub since the last pass; the next one brings it
 * - `withheld`: a removal that waits for a person
 * - `not-configured`: the configuration no longer names the afterschool; `rollcall topics purge` removes it
 */
export type DifferenceState = 'wrong' | 'pending' | 'withheld' | 'not-configured';

export interface Difference {
  readonly collection: CollectionName;
  /** Key of the record; of a reject, its second part. */
  readonly key: string;
  readonly kind: DifferenceKind;
  readonly state: DifferenceState;
}
