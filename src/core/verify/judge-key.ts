import type { DifferenceState } from './difference.ts';
import { hashIn, isSound, type TopicEntry } from './topic-entry.ts';

/** What the hub has under a key: content, or an unreadable row, which does not change its record. */
export type HubSide =
  | {
      readonly hash: string;
      readonly modifiedAtMs: number | null;
      /** The hub has it without any content. */
      readonly becameEmpty?: boolean | undefined;
    }
  | 'unreadable';

export interface KeySides {
  /** Null: the hub does not have it. */
  readonly hub: HubSide | null;
  /** Null: the topic does not have it. */
  readonly topic: TopicEntry | null;
}

type RowKind = 'missing' | 'left-over' | 'different' | 'undecodable';

/** The difference between a record and the hub's row; null when they are equal. */
export function differenceOf({ hub, topic }: KeySides): RowKind | null {
  if (hub === null) return topic === null ? null : 'left-over';
  if (topic === null) return hub === 'unreadable' ? null : 'missing';
  if (!isSound(topic)) return 'undecodable';
  return hub === 'unreadable' || hub.hash === hashIn(topic) ? null : 'different';
}

/** The facts that decide, besides the two sides, whether the next sync removes a difference. */
export interface Circumstances {
  /**
   * The hash in the index, null for none; undefined when the index is not available. It says nothing about the topic:
   * when it equals the hub's hash, no sync will find a change.
   */
  readonly index: string | null | undefined;
  /** The removal, or the change to an empty value, needs a decision. */
  readonly isWithheld: boolean;
  /** Rows modified before this (hub time, ms since the epoch) are read; null before the first complete sync. */
  readonly watermarkMs: number | null;
}

/** Whether a difference is wrong, the next sync removes it, or it needs a decision. */
export function stateOf(
  kind: RowKind | 'reject-missing' | 'reject-left-over',
  hub: HubSide | null,
  { index, isWithheld, watermarkMs }: Circumstances,
): DifferenceState {
  if (kind === 'undecodable') return 'wrong';
  const isLoss = hub === null || (hub !== 'unreadable' && hub.becameEmpty === true);
  if (kind !== 'missing' && isLoss && isWithheld) return 'withheld';
  // The next full sync finds a removal, and only of a key in the index.
  if (hub === null || hub === 'unreadable') return index === null ? 'wrong' : 'pending';
  if (index === hub.hash) return 'wrong';
  const { modifiedAtMs } = hub;
  const isRecent = modifiedAtMs === null || watermarkMs === null || modifiedAtMs >= watermarkMs;
  return isRecent ? 'pending' : 'wrong';
}
