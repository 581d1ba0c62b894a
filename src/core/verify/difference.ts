import type { CollectionName } from '../../model/collections.ts';

/**
 * - `missing`: the hub has it, the topic does not
 * - `left-over`: the topic has it, the hub does not
 * - `different`: both have it, with different content
 * - `undecodable`: the record cannot be decoded, lacks a part that the contract requires, or does not match its hash
 * - `gap`: a published step of an absence is missing, or occurs twice
 * - `two-students`: records of two students have the same absence id
 * - `reject-missing`, `reject-left-over`: the same for unreadable rows
 * - `index`: the index and the topic differ
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
 * - `wrong`: no sync will remove it
 * - `pending`: changed at the hub since the last sync; the next one removes it, or the second full one that misses the row
 * - `withheld`: a removal that needs a decision
 */
export type DifferenceState = 'wrong' | 'pending' | 'withheld';

export interface Difference {
  readonly collection: CollectionName;
  /** Key of the record; for a reject, the second part of its key. */
  readonly key: string;
  readonly kind: DifferenceKind;
  readonly state: DifferenceState;
}
